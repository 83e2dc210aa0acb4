package e2ee

import (
	"fmt"
	"strings"
	"testing"
)

// A panic that an answer causes is an error of the request: nobody else would recover from it.
func TestFlightPanics(t *testing.T) {
	var f flights[string]
	var in background
	err := wait(t.Context(), f.start(&in, []string{"a"}, func([]string) error { panic("malformed") }))
	if err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("got %v", err)
	}
	if err := wait(t.Context(), f.start(&in, []string{"a"}, func([]string) error { return nil })); err != nil {
		t.Errorf("the next one: %v", err)
	}
	in.close()
	if err := wait(t.Context(), f.start(&in, []string{"a"}, func([]string) error { return nil })); err == nil {
		t.Error("started after the end")
	}
}

// Users of many homeservers do not cause as many requests at once.
func TestByServer(t *testing.T) {
	all := make([]string, 1000)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	groups, n := byServer(all, "999", func(s string) string { return s }), 0
	for _, group := range groups {
		n += len(group)
	}
	if len(groups) > 2*maxServers+1 || n != len(all) || len(groups["999"]) != 1 {
		t.Errorf("%d groups of %d users", len(groups), n)
	}
	if got := len(byServer(all[:9], "", func(s string) string { return s })); got != 9 {
		t.Errorf("%d groups, want 9", got)
	}
}
