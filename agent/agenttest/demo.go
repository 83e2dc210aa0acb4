package agenttest

import (
	_ "embed"
	"sync"
)

//go:embed demo.yaml
var demo []byte

var demoScript = sync.OnceValues(func() (*Script, error) { return Load(demo) })

// Demo is the script of the demo without an API key. Each reply says that a scripted model gave it; asked to
// write something it writes a file, so that a tool is seen at work.
func Demo() *Script {
	s, err := demoScript()
	if err != nil {
		panic(err) // the file is part of the program, a test loads it
	}
	return s
}
