package boxinit

import (
	"bytes"
	"fmt"
	"io"
)

// lastKept is how many bytes are kept of the end of an output that exceeds its bound.
const lastKept = 256 << 10

// output keeps the beginning of a stream in a file, up to a bound, and its end in memory. Whatever cannot be written (a
// full disk) counts as beyond the bound.
type output struct {
	file    io.Writer
	left    int64 // bytes that still fit into the file
	newline bool  // the file ends with a newline (or is empty)
	last    []byte
	dropped int64 // bytes that are neither in the file nor in last
}

func newOutput(file io.Writer, bound int64) *output {
	if bound <= 0 {
		bound = DefaultMaxOutput
	}
	return &output{file: file, left: bound, newline: true}
}

// Write always accepts all of b.
func (o *output) Write(b []byte) (int, error) {
	all := len(b)
	if o.left > 0 {
		n, err := o.file.Write(b[:min(int64(len(b)), o.left)])
		if n > 0 {
			o.newline = b[n-1] == '\n'
		}
		o.left -= int64(n)
		if err != nil {
			o.left = 0
		}
		b = b[n:]
	}
	o.last = append(o.last, b...)
	if extra := len(o.last) - 2*lastKept; extra > 0 {
		o.trim(lastKept)
	}
	return all, nil
}

func (o *output) trim(keep int) {
	extra := len(o.last) - keep
	if extra <= 0 {
		return
	}
	o.dropped += int64(extra)
	o.last = append(o.last[:0], o.last[extra:]...)
}

// finish writes a line that says how much is missing, then the end that was kept. The end begins with a whole line if
// it contains one.
func (o *output) finish() error {
	if len(o.last) == 0 {
		return nil
	}
	o.trim(lastKept)
	if i := bytes.IndexByte(o.last, '\n'); i >= 0 && i+1 < len(o.last) {
		o.trim(len(o.last) - i - 1)
	}
	mark := fmt.Sprintf("{\"type\":\"truncated\",\"dropped\":%d}\n", o.dropped)
	if !o.newline {
		mark = "\n" + mark
	}
	_, err := o.file.Write(append([]byte(mark), o.last...))
	o.last = nil
	return err
}
