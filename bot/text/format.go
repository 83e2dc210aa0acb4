package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration writes a duration for people: "8 s", "3 min", "2 h 4 min".
func Duration(d time.Duration) string {
	s := int(d.Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min", s/60)
	case s%3600 < 60:
		return fmt.Sprintf("%d h", s/3600)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
}

// Size writes a size for people, by 1024: "512 B", "1.4 kB", "50 MB".
func Size(n int64) string {
	const units = "kMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1023.5 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if size >= 10 {
		return fmt.Sprintf("%.0f %cB", size, units[unit])
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + fmt.Sprintf(" %cB", units[unit])
}

// Thousands writes a number with a comma between groups of three digits.
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
