package sandbox

import (
	"bytes"
	"testing"
)

func TestRun(t *testing.T) {
	box := testBox(t)
	existed, err := box.StartRun(t.Context(), RunSpec{
		ID: "one", Argv: []string{"sh", "-c", `echo "hello $MATRIX_TUI_RUN $X"; echo oops >&2; pwd; exit 3`}, Env: []string{"X=y"},
	})
	if err != nil || existed {
		t.Fatal(existed, err)
	}
	var out bytes.Buffer
	status, err := box.FollowRun(t.Context(), "one", 0, &out)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "hello one y\n/workspace\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if status.State != RunExited || status.Code != 3 || status.Stderr != "oops\n" || status.Size != int64(out.Len()) {
		t.Errorf("status %+v", status)
	}
}
