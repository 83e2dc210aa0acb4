package a

import (
	"fmt"
	"io"
	"os"
)

type inner struct{ Journal string }

func (inner) Say()   {}
func (inner) Close() {}
func (inner) Write() {}

type outer struct {
	inner
	Journal int // want `field Journal hides field Journal string of the embedded inner`
}

func (outer) Say()     {} // want `method Say hides func \(inner\)\.Say\(\) of the embedded inner`
func (o outer) Close() { o.inner.Close() }

//lint:hides a reason
func (outer) Write() {}

type wraps struct{ io.Writer }

func (wraps) Write([]byte) (int, error) { return 0, nil }

func drop(f *os.File) {
	f.Sync() // want `the error of \(\*os\.File\)\.Sync`
	_ = f.Sync()
	fmt.Fprintln(f)
	defer f.Close()
}
