package matrix

import (
	"net/http"
	"sync/atomic"
	"time"
)

// clockError is the difference between two clocks that does not matter.
const clockError = 10 * time.Minute

// clock compares this host's clock with the homeserver's, as its responses say it.
type clock struct {
	next  http.RoundTripper
	ahead atomic.Int64 // how far this host's clock was ahead at the last response; ns
}

// RoundTrip is part of [http.RoundTripper].
func (c *clock) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		c.ahead.Store(int64(time.Since(date)))
	}
	return resp, nil
}

// Ahead returns how far this host's clock is ahead of the homeserver's, or 0 if they
// agree or the homeserver has not said.
func (a *Account) Ahead() time.Duration {
	ahead := time.Duration(a.clock.ahead.Load())
	if ahead.Abs() < clockError {
		return 0
	}
	return ahead
}

// Now returns the time by this host's clock or by the homeserver's, whichever is
// earlier: nothing expires because one of them is wrong.
func (a *Account) Now() time.Time {
	return time.Now().Add(-max(0, a.Ahead()))
}
