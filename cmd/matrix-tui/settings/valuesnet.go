package settings

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func (p *Ports) UnmarshalText(text []byte) error {
	for _, one := range items(string(text)) {
		n, err := strconv.ParseUint(one, 10, 16)
		if err != nil || n == 0 {
			return errValue
		}
		*p = append(*p, uint16(n))
	}
	if len(*p) == 0 {
		return errValue
	}
	return nil
}

func (n *Networks) UnmarshalText(text []byte) error {
	for _, one := range items(string(text)) {
		network, err := netip.ParsePrefix(one)
		if address, isAddress := netip.ParseAddr(one); isAddress == nil && address.Zone() == "" {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return errValue
		}
		*n = append(*n, network.Masked())
	}
	return nil
}

// modelTools are the tools that MODEL_TOOLS may name.
var modelTools = []string{"google_search", "url_context", "google_maps", "code_execution"}

func (m *ModelTools) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		return nil
	}
	for _, one := range items(string(text)) {
		if !slices.Contains(modelTools, one) {
			return errValue
		}
		*m = append(*m, one)
	}
	return nil
}

// items splits a list at its commas and white space.
func items(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}
