package api

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"matrix-tui/state/sentence"
)

func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct{ address, want string }{
		{taken.Addr().String(), "API_LISTEN is " + taken.Addr().String() + ", but another program is already listening there: stop it, or choose another port."},
		{"192.0.2.1:0", "API_LISTEN is 192.0.2.1:0, which is not an address of this host: choose one that is, such as 127.0.0.1."},
	} {
		_, err := Listen(t.Context(), "API_LISTEN", tt.address)
		said, _ := sentence.Of(err)
		if diff := cmp.Diff(tt.want, said); diff != "" {
			t.Errorf("sentence (-want +got):\n%s", diff)
		}
	}
}
