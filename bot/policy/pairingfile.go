package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// kept is pairing.json, oldest first.
type kept struct {
	Codes []pending   `json:"codes"`
	Wrong []time.Time `json:"wrong"` // times of wrong codes
}

func (k *kept) write(path string) error {
	data, err := json.MarshalIndent(k, "", " ")
	if err == nil {
		err = writeBytes(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write pairing codes: %w", err)
	}
	return nil
}

// current returns the codes that are valid now.
func (k *kept) current(now time.Time) []pending {
	return slices.DeleteFunc(slices.Clone(k.Codes), func(c pending) bool { return over(c.Made, now) })
}

// wrong returns the times of wrong attempts that count now.
func (k *kept) wrong(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(k.Wrong), func(t time.Time) bool { return over(t, now) })
}

// over reports whether an hour has passed since. A time far in the future comes from a clock that was wrong, and counts
// as past.
func over(since, now time.Time) bool { return now.Sub(since).Abs() >= CodeLifetime }
