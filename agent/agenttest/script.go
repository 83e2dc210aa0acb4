package agenttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Bounds of a script, so that a typo (say_repeat of 20 GB) does not take the host down.
const (
	maxScript = 4 << 20  // bytes of YAML
	maxRules  = 10_000   // rules
	maxRepeat = 64 << 20 // bytes of say_repeat
	maxChunks = 100_000  // pieces of one answer
)

// Script defines the server's answers. Load returns one.
type Script struct {
	Rules   []Rule `yaml:"rules"`
	Default *Rule  `yaml:"default"`

	Models     []Model     `yaml:"models"` // if there are none, those of a new key
	Embeddings *Embeddings `yaml:"embeddings"`
}

// Load reads a script. Unknown keys, invalid patterns, rules without an answer and references to submatches that the
// pattern does not have are errors that name the rule, counted from 1.
func Load(data []byte) (*Script, error) {
	if len(data) > maxScript {
		return nil, fmt.Errorf("script has %d bytes, at most %d are read", len(data), maxScript)
	}
	s := new(Script)
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(s); errors.Is(err, io.EOF) {
		return nil, errors.New("script is empty")
	} else if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("script holds more than one YAML document")
	}
	if len(s.Rules) > maxRules {
		return nil, fmt.Errorf("script has %d rules, at most %d are read", len(s.Rules), maxRules)
	}
	for i := range s.Rules {
		if err := s.Rules[i].check(); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	if e := s.Embeddings; e != nil && (e.Delay < 0 || e.Status != 0 && (e.Status < 400 || e.Status > 599)) {
		return nil, errors.New("embeddings: status is an HTTP error (400 to 599), and delay is not negative")
	}
	if err := checkModels(s.Models); err != nil {
		return nil, err
	}
	if len(s.Models) == 0 {
		s.Models = models
	}
	if s.Default == nil {
		s.Default = &Rule{Say: "scripted answer"}
	}
	d := s.Default
	if d.When != nil || d.Tool != nil || d.System != nil || d.Sent != nil || d.Model != nil || d.Times != 0 || d.JSON {
		return nil, errors.New("default: takes an answer only; it is used when no rule matches")
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("default: %w", err)
	}
	return s, nil
}
