package main

import (
	"net/netip"
	"strings"
	"unicode"
)

func (p *Ports) UnmarshalText(text []byte) error {
	for _, one := range items(string(text)) {
		n, err := wholeNumber([]byte(one), 1, 1<<16-1)
		if err != nil {
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

// items splits a list at its commas and white space.
func items(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}
