package agenttest

import (
	_ "embed"
	"sync"
)

//go:embed demo.yaml
var demo []byte

var demoScript = sync.OnceValues(func() (*Script, error) { return Load(demo) })

// Demo is the script of the demo without an API key. Each reply says that it comes from a scripted model. If asked to
// write something, it writes a file, so that the demo shows a tool call.
func Demo() *Script {
	s, err := demoScript()
	if err != nil {
		panic(err) // cannot happen: the file is embedded, and a test loads it
	}
	return s
}
