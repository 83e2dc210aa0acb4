package agenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

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

	Embeddings *Embeddings `yaml:"embeddings"`
}

// Rule is one entry of a script. The package comment explains each field.
type Rule struct {
	When   *Pattern `yaml:"when"`
	Tool   *Pattern `yaml:"tool"`
	System *Pattern `yaml:"system"`
	Sent   *Pattern `yaml:"sent"`
	JSON   bool     `yaml:"json"`
	Times  int      `yaml:"times"` // 0 = always

	Say        string        `yaml:"say"`
	SayRepeat  *Repeat       `yaml:"say_repeat"`
	Tokens     int           `yaml:"tokens"`
	Cached     int           `yaml:"cached"`
	Call       []Call        `yaml:"call"`
	Empty      bool          `yaml:"empty"`
	Finish     string        `yaml:"finish"`
	Delay      time.Duration `yaml:"delay"`
	Chunks     int           `yaml:"chunks"`
	ChunkDelay time.Duration `yaml:"chunk_delay"`
	Status     int           `yaml:"status"`
	RetryAfter time.Duration `yaml:"retry_after"`
	Body       string        `yaml:"body"`
	Break      bool          `yaml:"break"`
	Garbage    bool          `yaml:"garbage"`
	Hang       time.Duration `yaml:"hang"`
}

// Call is a function call that the model makes.
type Call struct {
	Name string         `yaml:"name"`
	Args map[string]any `yaml:"args"`
}

// Repeat is Text over and over, cut at Bytes. {{n}} in it is the number of the repetition.
type Repeat struct {
	Text  string `yaml:"text"`
	Bytes int    `yaml:"bytes"`
}

// Pattern is a regular expression; an error in it is reported with its line.
type Pattern struct{ *regexp.Regexp }

// UnmarshalYAML compiles the pattern.
func (p *Pattern) UnmarshalYAML(n *yaml.Node) error {
	var s string
	if err := n.Decode(&s); err != nil {
		return err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	p.Regexp = re
	return nil
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
	if s.Default == nil {
		s.Default = &Rule{Say: "scripted answer"}
	}
	d := s.Default
	if d.When != nil || d.Tool != nil || d.System != nil || d.Sent != nil || d.Times != 0 || d.JSON {
		return nil, errors.New("default: takes an answer only; it is used when no rule matches")
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("default: %w", err)
	}
	return s, nil
}

// check finds what would make the rule useless or harmful.
func (r *Rule) check() error {
	failure := r.Status != 0 || r.Garbage
	bulk := r.SayRepeat
	switch {
	case r.Status != 0 && (r.Status < 400 || r.Status > 599):
		return fmt.Errorf("status %d is not an HTTP error (400 to 599)", r.Status)
	case r.Status == 0 && (r.Body != "" || r.RetryAfter != 0):
		return errors.New("body and retry_after need status")
	case failure && (r.Say != "" || r.SayRepeat != nil || len(r.Call) > 0 || r.Empty || r.Break):
		return errors.New("status and garbage exclude say, say_repeat, call, empty and break")
	case r.Status != 0 && r.Garbage:
		return errors.New("status and garbage exclude each other")
	case r.Empty && (r.Say != "" || r.SayRepeat != nil || len(r.Call) > 0):
		return errors.New("empty excludes say, say_repeat and call")
	case r.silent() && !r.Break && r.Hang == 0:
		return errors.New("no answer: give say, call, say_repeat, empty, status, garbage, break or hang")
	case r.Say != "" && r.SayRepeat != nil:
		return errors.New("say and say_repeat exclude each other")
	case bulk != nil && (bulk.Text == "" || bulk.Bytes < 1 || bulk.Bytes > maxRepeat):
		return fmt.Errorf("say_repeat needs a text and 1 to %d bytes", maxRepeat)
	case r.Chunks < 0 || r.Chunks > maxChunks:
		return fmt.Errorf("chunks is 0 to %d", maxChunks)
	case r.Times < 0:
		return errors.New("times is negative")
	case r.Delay < 0 || r.ChunkDelay < 0 || r.RetryAfter < 0 || r.Hang < 0:
		return errors.New("a duration is negative")
	}
	texts := []string{r.Say, r.Body}
	for _, c := range r.Call {
		if c.Name == "" {
			return errors.New("call without a name")
		}
		args, err := json.Marshal(c.Args)
		if err != nil {
			return fmt.Errorf("args of %s cannot be sent as JSON: %w", c.Name, err)
		}
		texts = append(texts, string(args))
	}
	return r.checkSubmatches(texts)
}

var submatch = regexp.MustCompile(`\{\{(\d{1,3})\}\}`)

func (r *Rule) checkSubmatches(texts []string) error {
	have := -1
	if p := r.capturing(); p != nil {
		have = p.NumSubexp()
	}
	for _, t := range texts {
		for _, m := range submatch.FindAllStringSubmatch(t, -1) {
			if n, _ := strconv.Atoi(m[1]); n > have {
				return fmt.Errorf("%s has no submatch in the rule's pattern", m[0])
			}
		}
	}
	return nil
}

// silent reports whether the rule sends nothing: after its hang the connection is cut.
func (r *Rule) silent() bool {
	return r.Status == 0 && !r.Garbage && !r.Empty && r.Say == "" && r.SayRepeat == nil && len(r.Call) == 0
}

// capturing returns the pattern whose submatches the answer may use.
func (r *Rule) capturing() *Pattern {
	if r.When != nil {
		return r.When
	}
	return r.Tool
}
