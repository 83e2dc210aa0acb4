package update

import (
	"strings"
	"testing"
	"time"
)

func TestWantsUpdate(t *testing.T) {
	for text, want := range map[string]bool{
		"update yourself": true, "Please update yourself!": true, "upgrade yourself now": true, "hey can you update yourself please?": true,
		"self-update yourself": true, "update the bot to the latest version": true, "Update matrix-tui.": true, " update your self ": true,
		"update": false, "update yourself and then tell me": false, "update the README": false, "how do I update yourself": false,
		"update yourself\nand more": false, "update the bottom line": false, "": false,
	} {
		if Wanted(text) != want {
			t.Errorf("Wanted(%q) = %v", text, !want)
		}
	}
}

func TestResultText(t *testing.T) {
	same, begun := Snapshot{2, 4}, time.Now()
	done := Result{From: "111111111111", To: "222222222222", Done: true, Begun: begun, Stopped: begun.Add(18770 * time.Millisecond), Ended: begun.Add(20 * time.Second), Subjects: []string{"b: new", "a: new"}, Before: same}
	failed := Result{From: "111111111111", To: "222222222222", Why: "It ended before it was ready.", Log: []string{"panic: x"}}
	cut := Result{From: "111111111111", Why: "It was cut off."}
	for name, tt := range map[string]struct {
		res  Result
		now  Snapshot
		want string
	}{
		"done":      {done, same, "✅ Updated from `111111111111` to `222222222222` in 20 s; I was away for 1.2s. Workspace and conversation are intact: 2 rooms with a container, 4 turns of conversation.\n\n- b: new\n- a: new"},
		"more":      {done, Snapshot{3, 5}, "are intact"},
		"less":      {done, Snapshot{1, 3}, "⚠️ Something is missing: only 1 of 2 rooms with a container are left; only 3 of 4 turns of conversation are left."},
		"failed":    {failed, same, "⚠️ The update to `222222222222` failed: I am still running `111111111111`, and nothing has changed. It ended before it was ready.\n\n```\npanic: x\n```"},
		"cut early": {cut, same, "⚠️ The update failed: I am still running `111111111111`"},
	} {
		if got := tt.res.Text(tt.now); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s\nwant %s", name, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Order{
		"": {}, "v1": {Ref: "v1"}, "v1 BACK": {Ref: "v1", Back: true}, "v1 again back": {Ref: "v1", Again: true, Back: true}, "again": {Again: true},
	} {
		if got, ok := Parse(text); got != want || !ok {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"v1 v2", "back v1", "v1 v2 back"} {
		if got, ok := Parse(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
