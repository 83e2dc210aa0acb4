package state

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// one is an execution of a given size, in bytes.
func one(id, status string, size int) string {
	text := fmt.Sprintf(`{"session_id":%q,"state":%q,"transcript":[""]}`, id, status)
	return strings.Replace(text, `""]`, `"`+strings.Repeat("x", max(0, size-len(text)))+`"]`, 1)
}

func putExecution(t testing.TB, s *Store, room, raw string) {
	t.Helper()
	must(t, s.Executions.Put(ctx, room, json.RawMessage(raw)))
}

func texts(raws []json.RawMessage) (out []string) {
	for _, raw := range raws {
		out = append(out, string(raw))
	}
	return out
}

// sessionsOf returns the IDs of a room's executions, in order.
func sessionsOf(t testing.TB, s *Store, room string) (out []string) {
	t.Helper()
	for _, raw := range s.Executions.In(room) {
		e, err := newExecution(raw)
		must(t, err)
		out = append(out, e.id)
	}
	return out
}

func TestExecutionsAreKeptByteForByte(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	a1 := `{"session_id":"a","state":"running", "n": 1.50e3, "<&>": "é\u00e9 \ud800", "later": [ ] }`
	a2 := `{"state":"waiting_for_input","session_id":"a","current_question":"Which?"}`
	b := `{"session_id":"b","state":"completed"}`
	putExecution(t, s, "!r", " \n"+a1+"\n")
	putExecution(t, s, "!r", b)
	putExecution(t, s, "!other", `{"session_id":"c","state":"pending"}`)
	for _, a := range []string{a1, a2} {
		putExecution(t, s, "!r", a)
		for range 2 {
			if diff := cmp.Diff([]string{a, b}, texts(s.Executions.In("!r"))); diff != "" {
				t.Error(diff)
			}
			room, raw, ok := s.Executions.Get("a")
			if room != "!r" || string(raw) != a || !ok {
				t.Errorf("%s, %s, %v", room, raw, ok)
			}
			s = openStore(t, dir)
		}
	}
	if diff := cmp.Diff([]string{"!other", "!r"}, s.Rooms()); diff != "" {
		t.Error(diff)
	}
	for _, id := range []string{"d", ""} {
		if room, raw, ok := s.Executions.Get(id); room != "" || raw != nil || ok {
			t.Errorf("%q: %s, %s, %v", id, room, raw, ok)
		}
	}
	if got := s.Executions.In("!none"); got != nil {
		t.Errorf("%s", got)
	}

	before := s.attempts
	putExecution(t, s, "!r", a2)
	if s.attempts != before {
		t.Error("an existing execution was written again")
	}
	_, raw, _ := s.Executions.Get("a")
	clear(raw)
	clear(s.Executions.In("!r")[0])
	if diff := cmp.Diff([]string{a2, b}, texts(s.Executions.In("!r"))); diff != "" {
		t.Error("a reader changed it:", diff)
	}
	given := json.RawMessage(a1)
	must(t, s.Executions.Put(ctx, "!r", given))
	clear(given)
	if _, raw, _ := s.Executions.Get("a"); string(raw) != a1 {
		t.Errorf("the caller changed it: %s", raw)
	}
}

func TestPutExecutionRefuses(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	before := readState(t, s)
	for name, raw := range map[string]string{
		"nothing": "", "null": "null", "a list": `["a"]`, "a text": `"a"`, "half": `{"session_id":"a","state":"run`,
		"two": `{"session_id":"a","state":"running"}{}`, "no ID": `{"state":"running"}`, "an empty ID": `{"session_id":"","state":"running"}`,
		"a number for an ID": `{"session_id":1,"state":"running"}`, "no state": `{"session_id":"a"}`, "a null state": `{"session_id":"a","state":null}`,
	} {
		if err := s.Executions.Put(ctx, "!r", json.RawMessage(raw)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := s.Executions.Put(ctx, "", json.RawMessage(one("a", "running", 0))); err == nil {
		t.Error("an execution without a room was accepted")
	}
	if diff := cmp.Diff(before, readState(t, s)); diff != "" || len(s.Rooms()) > 0 {
		t.Error(diff)
	}
}

// An ID is in one room, the one that it was put in last.
func TestExecutionChangesItsRoom(t *testing.T) {
	s := openStore(t, t.TempDir())
	putExecution(t, s, "!a", one("1", "running", 0))
	putExecution(t, s, "!a", one("2", "running", 0))
	putExecution(t, s, "!b", one("1", "running", 0))
	putExecution(t, s, "!b", one("2", "running", 0))
	if got := s.Executions.In("!a"); len(got) > 0 {
		t.Errorf("%s", got)
	}
	if diff := cmp.Diff([]string{"1", "2"}, sessionsOf(t, s, "!b")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"!b"}, s.Rooms()); diff != "" {
		t.Error(diff)
	}
}

func TestExecutionsMoveWithTheirRoom(t *testing.T) {
	dir := t.TempDir()
	writeState(t, dir, `{"executions": {"!old": ["kept", `+one("1", "running", 0)+`, `+one("2", "running", 0)+`]}}`)
	s := openStore(t, dir)
	for i := range 15 {
		putExecution(t, s, "!old", one(fmt.Sprint("old", i), "completed", 100))
		putExecution(t, s, "!new", one(fmt.Sprint("new", i), "completed", 100))
	}
	want := []string{"1", "2"}
	for i := 10; i < 15; i++ {
		want = append(want, fmt.Sprint("old", i))
	}
	for i := range 15 {
		want = append(want, fmt.Sprint("new", i))
	}
	for range 2 {
		must(t, s.MoveRoom(ctx, "!old", "!new"))
		if diff := cmp.Diff(want, sessionsOf(t, s, "!new")); diff != "" {
			t.Error(diff)
		}
		if room, _, ok := s.Executions.Get("1"); room != "!new" || !ok {
			t.Errorf("%q, %v", room, ok)
		}
		if room, _, ok := s.Executions.Get("old1"); ok {
			t.Errorf("a removed one is in %q", room)
		}
		if diff := cmp.Diff([]string{"!new"}, s.Rooms()); diff != "" {
			t.Error("not all of it has moved:", diff)
		}
		s = openStore(t, dir)
	}
}

// Rooms are written and read concurrently.
func TestExecutionsOfManyRoomsAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	var group sync.WaitGroup
	for r := range 8 {
		room := fmt.Sprint("!", r)
		group.Go(func() {
			for i := range 10 {
				id := fmt.Sprintf("%d-%d", r, i)
				for _, status := range []string{"running", "waiting_for_input", "completed"} {
					if err := s.Executions.Put(ctx, room, json.RawMessage(one(id, status, 500))); err != nil {
						t.Error(err)
					}
					if at, raw, ok := s.Executions.Get(id); at != room || string(raw) != one(id, status, 500) || !ok {
						t.Errorf("%s is in %q: %s", id, at, raw)
					}
				}
			}
		})
	}
	group.Wait()
	again, err := ReadStore(dir)
	must(t, err)
	for r := range 8 {
		if got := len(again.Executions.In(fmt.Sprint("!", r))); got != 10 {
			t.Errorf("room %d has %d executions on disk", r, got)
		}
	}
}
