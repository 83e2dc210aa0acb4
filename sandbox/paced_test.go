package sandbox

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"matrix-tui/sandbox/boxinit"
)

// A container that stops in the middle of an upload, or of a download, is given up.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, op := range []boxinit.Op{boxinit.OpUpload, boxinit.OpDownload} {
			here, there := net.Pipe()
			go func() { _, _ = io.ReadFull(there, make([]byte, 100)) }()
			begun := time.Now()
			o := operation{gap: browseGap, stdin: strings.NewReader(strings.Repeat("x", 1<<20)),
				Request: boxinit.Request{Op: op, Name: []byte(strings.Repeat("n", 50))}}
			if _, err := o.on(here); err == nil || time.Since(begun) > 2*browseGap {
				t.Errorf("%s: %v after %s", op, err, time.Since(begun))
			}
			there.Close()
		}
	})
}
