package matrix

import "time"

// CallTimeout is the time that one request to the homeserver may take.
const CallTimeout = 30 * time.Second

// RefusedTime is how long to retry what the homeserver refuses: see [Refusals].
const RefusedTime = 30 * time.Second

// Refusals is what the homeserver has refused, and since when. It belongs to one goroutine.
type Refusals map[string]time.Time

// maxRefusals is how many refusals are remembered. One event causes fewer.
const maxRefusals = 8

// Again reports whether what has failed with err must be tried again: if err may go away, and for a while also after a
// refusal. One proves nothing: an invitation can arrive before its server knows of it, and a join is refused while
// another one is in progress. Only what is wrong with the request itself is final at once.
func (f *Refusals) Again(what string, err error) bool {
	if err == nil || IsRejected(err) {
		delete(*f, what)
		return false
	}
	if Temporary(err) {
		return true
	}
	first, known := (*f)[what]
	if !known {
		if *f == nil || len(*f) >= maxRefusals {
			*f = Refusals{}
		}
		first = time.Now()
		(*f)[what] = first
	}
	return time.Since(first) < RefusedTime
}
