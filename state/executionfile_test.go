package state

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// What another release left under the key is no damage, and stays.
func TestExecutionsOfAnotherShape(t *testing.T) {
	mine := one("mine", "running", 0)
	tests := []struct{ name, value, then, after string }{
		{"none", `{}`, ``, "{\n    \"!r\": [\n      " + mine + "\n    ]\n  }"},
		{"null", `null`, ``, "{\n    \"!r\": [\n      " + mine + "\n    ]\n  }"},
		{"texts in a list", `{"!r": ["kept", null, 1.0e2, {"id": 1}]}`,
			"{\n    \"!r\": [\n      \"kept\",\n      null,\n      1.0e2,\n      {\"id\": 1}\n    ]\n  }",
			"{\n    \"!r\": [\n      \"kept\",\n      null,\n      1.0e2,\n      {\"id\": 1},\n      " + mine + "\n    ]\n  }"},
		{"an object for a room", `{"!r": {"id":  "x1",  "n": 1.50e3, "<&>": "é\u00e9"}}`,
			"{\n    \"!r\": {\"id\":  \"x1\",  \"n\": 1.50e3, \"<&>\": \"é\\u00e9\"}\n  }",
			"{\n    \"!r\": [\n      {\"id\":  \"x1\",  \"n\": 1.50e3, \"<&>\": \"é\\u00e9\"},\n      " + mine + "\n    ]\n  }"},
		{"an execution for a room", `{"!q": {"session_id": "1", "state": "running"}}`,
			"{\n    \"!q\": {\"session_id\": \"1\", \"state\": \"running\"}\n  }",
			"{\n    \"!q\": {\"session_id\": \"1\", \"state\": \"running\"},\n    \"!r\": [\n      " + mine + "\n    ]\n  }"},
		{"the same ID twice", `{"!q": [{"session_id": "1", "state": "a"}, {"session_id": "1", "state": "b"}], "!r": [{"session_id": "1", "state": "c"}, 0]}`,
			"{\n    \"!q\": [\n      {\"session_id\": \"1\", \"state\": \"b\"}\n    ],\n    \"!r\": [\n      0\n    ]\n  }",
			"{\n    \"!q\": [\n      {\"session_id\": \"1\", \"state\": \"b\"}\n    ],\n    \"!r\": [\n      0,\n      " + mine + "\n    ]\n  }"},
		{"a room without a name", `{"": [{"session_id": "1", "state": "a"}]}`,
			"{\n    \"\": [\n      {\"session_id\": \"1\", \"state\": \"a\"}\n    ]\n  }",
			"{\n    \"\": [\n      {\"session_id\": \"1\", \"state\": \"a\"}\n    ],\n    \"!r\": [\n      " + mine + "\n    ]\n  }"},
		{"a list", `[{"session_id": "1",  "state": "running"}, 2.0]`,
			"{\n    \"\": [\n      {\"session_id\": \"1\",  \"state\": \"running\"},\n      2.0\n    ]\n  }",
			"{\n    \"\": [\n      {\"session_id\": \"1\",  \"state\": \"running\"},\n      2.0\n    ],\n    \"!r\": [\n      " + mine + "\n    ]\n  }"},
		{"a number", `1.50e3`, "{\n    \"\": 1.50e3\n  }", "{\n    \"\": 1.50e3,\n    \"!r\": [\n      " + mine + "\n    ]\n  }"},
		{"a text", `"kept"`, "{\n    \"\": \"kept\"\n  }", "{\n    \"\": \"kept\",\n    \"!r\": [\n      " + mine + "\n    ]\n  }"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			writeState(t, dir, `{"containers": {"!r": "box"}, "executions": `+test.value+`, "answer": 42}`)
			s := openStore(t, dir)
			if s.Corrupt() != "" || s.Container("!r") != "box" {
				t.Fatalf("taken for damaged: %q", s.Corrupt())
			}
			says := func(want string) {
				t.Helper()
				file := readState(t, dir)
				if want != "" && !strings.Contains(file, `"executions": `+want+",\n  \"answer\": 42") {
					t.Errorf("want %s in\n%s", want, file)
				}
				if want == "" && strings.Contains(file, `"executions"`) {
					t.Errorf("a key for nothing in\n%s", file)
				}
			}
			must(t, s.SetSession(ctx, "!r", "s"))
			says(test.then)
			if rooms := s.Rooms(); slices.Contains(rooms, "") {
				t.Errorf("rooms %q", rooms)
			}
			s = openStore(t, dir)
			putExecution(t, s, "!r", mine)
			says(test.after)
			s = openStore(t, dir)
			if room, raw, ok := s.Execution("mine"); room != "!r" || string(raw) != mine || !ok {
				t.Errorf("%s, %s, %v", room, raw, ok)
			}
			must(t, s.SetSession(ctx, "!r", "t"))
			says(test.after)
		})
	}
}

// 500 executions that wait cost little memory: far less than 10 MB.
func TestWaitingExecutionsAreSmall(t *testing.T) {
	var file strings.Builder
	file.WriteString(`{"executions": {`)
	for i := range 500 {
		if i > 0 {
			file.WriteString(",")
		}
		fmt.Fprintf(&file, `"!room%d:example.org": [%s]`, i, one(fmt.Sprintf("18f02c3e-0000-4000-8000-%012d", i), "waiting_for_input", 2000))
	}
	file.WriteString(`}}`)
	dir := t.TempDir()
	writeState(t, dir, file.String())
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := inUse()
	s := openStore(t, dir)
	grown := int64(inUse()) - int64(before)
	if _, _, ok := s.Execution("18f02c3e-0000-4000-8000-000000000499"); !ok {
		t.Fatal("the file was not read")
	}
	t.Logf("%d KB", grown/1000)
	if grown > 2_000_000 {
		t.Errorf("%d bytes for 500 executions of 2,000", grown)
	}
}
