package policy

import (
	"fmt"
	"time"
	_ "time/tzdata" // the host may lack a zone that the policy names
)

// Zone returns the time zone with an IANA name; "" is nil.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("%q is not a time zone; use one like Europe/Berlin", name)
	}
	return zone, nil
}
