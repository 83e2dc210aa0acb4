package settings

import (
	"math"
	"strconv"
	"strings"
	"time"

	"matrix-tui/bot/policy"
)

func (b *Bytes) UnmarshalText(text []byte) error {
	number := strings.ToLower(strings.TrimSpace(string(text)))
	// 512m, 512mb, 512mib and 512M all mean what podman means by 512m.
	number = strings.TrimSuffix(strings.TrimSuffix(number, "b"), "i")
	unit := int64(1)
	if n := len(number); n > 0 {
		if at := strings.IndexByte("kmgt", number[n-1]); at >= 0 {
			unit, number = 1<<(10*(at+1)), number[:n-1]
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	size := value * float64(unit)
	if err != nil || math.IsNaN(size) || size < 0 || size > 1<<50 || size > 0 && size < minMemory {
		return errValue
	}
	*b = Bytes(size)
	return nil
}

// minMemory is the minimum with which a container can start.
const minMemory = 16 << 20

func (b Bytes) String() string {
	for _, unit := range []struct {
		letter string
		size   Bytes
	}{{"t", 1 << 40}, {"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}} {
		if b >= unit.size && b%unit.size == 0 {
			return strconv.FormatInt(int64(b/unit.size), 10) + unit.letter
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

func (c *CPUs) UnmarshalText(text []byte) error {
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(value) || value != 0 && value < 0.01 || value > 4096 {
		return errValue
	}
	*c = CPUs(value)
	return nil
}

func (p *PIDs) UnmarshalText(text []byte) error {
	err := whole(p, text, 0, 1<<22, one)
	if *p > 0 && *p < 16 {
		return errValue
	}
	return err
}

func (s *Seconds) UnmarshalText(text []byte) error {
	return whole(s, text, 1, 30*24*60*60, time.Second)
}
func (m *Minutes) UnmarshalText(text []byte) error { return whole(m, text, 1, 30*24*60, time.Minute) }
func (d *Days) UnmarshalText(text []byte) error    { return whole(d, text, 1, 3650, 24*time.Hour) }
func (m *Milliseconds) UnmarshalText(text []byte) error {
	return whole(m, text, 0, 60_000, time.Millisecond)
}
func (m *Megabytes) UnmarshalText(text []byte) error { return whole(m, text, 1, 1024, int64(1<<20)) }
func (f *Files) UnmarshalText(text []byte) error     { return whole(f, text, 1024, 1<<20, one) }
func (c *Count) UnmarshalText(text []byte) error     { return whole(c, text, 1, 1000, one) }
func (h *Hour) UnmarshalText(text []byte) error      { return whole(h, text, 0, 23, one) }
func (n *Agents) UnmarshalText(text []byte) error    { return whole(n, text, 0, 64, one) }
func (n *Tokens) UnmarshalText(text []byte) error    { return whole(n, text, 0, policy.MaxTokens, one) }

const one int64 = 1

// whole reads a whole number of units.
func whole[T ~int | ~int64, U ~int64](to *T, text []byte, least, most int64, unit U) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < least || n > most {
		return errValue
	}
	*to = T(n * int64(unit))
	return nil
}

func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d != 0 && d < time.Second || d > 365*24*time.Hour {
		return errValue
	}
	*s = Span(d)
	return nil
}

// Or returns the number, or a default if it is not set.
func (n *Agents) Or(unset int) int {
	if n == nil {
		return unset
	}
	return int(*n)
}
