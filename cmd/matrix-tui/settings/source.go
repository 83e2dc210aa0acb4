package settings

import "strings"

// Source is where releases come from: a git remote, or archive+ and an address.
type Source string

func (s *Source) UnmarshalText(text []byte) error {
	if strings.HasPrefix(string(text), "-") || strings.ContainsFunc(string(text),
		func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errValue
	}
	address, archive := strings.CutPrefix(string(text), "archive+")
	if archive && !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") &&
		!strings.HasPrefix(address, "file:///") {
		return errValue
	}
	*s = Source(text)
	return nil
}
