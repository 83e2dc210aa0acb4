package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
	"go.yaml.in/yaml/v3"
)

// Rule is one entry of a script. The package comment explains each field.
type Rule struct {
	When   *Pattern `yaml:"when"`
	Tool   *Pattern `yaml:"tool"`
	System *Pattern `yaml:"system"`
	Sent   *Pattern `yaml:"sent"`
	Model  *Pattern `yaml:"model"`
	JSON   bool     `yaml:"json"`
	Times  int      `yaml:"times"` // 0 = always

	Think      string        `yaml:"think"`
	Say        string        `yaml:"say"`
	SayRepeat  *Repeat       `yaml:"say_repeat"`
	Call       []Call        `yaml:"call"`
	Empty      bool          `yaml:"empty"`
	NoContent  bool          `yaml:"no_content"`
	Finish     string        `yaml:"finish"`
	Block      string        `yaml:"block"`
	Tokens     int           `yaml:"tokens"`
	Cached     int           `yaml:"cached"`
	Thoughts   int           `yaml:"thoughts"`
	ToolTokens int           `yaml:"tool_tokens"`
	Delay      time.Duration `yaml:"delay"`
	Chunks     int           `yaml:"chunks"`
	ChunkDelay time.Duration `yaml:"chunk_delay"`
	Refuse     string        `yaml:"refuse"`
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

// endless is a stream that ends without a finish reason.
const endless = "none"

// check finds what would make the rule useless or harmful.
func (r *Rule) check() error {
	parts := r.Think != "" || r.Say != "" || r.SayRepeat != nil || len(r.Call) > 0
	kinds := 0 // of answers that exclude each other
	for _, one := range []bool{parts, r.Empty, r.NoContent, r.Block != "", r.Status != 0, r.Garbage, r.Refuse != ""} {
		if one {
			kinds++
		}
	}
	bulk := r.SayRepeat
	switch {
	case r.Status != 0 && (r.Status < 400 || r.Status > 599):
		return fmt.Errorf("status %d is not an HTTP error (400 to 599)", r.Status)
	case r.Status == 0 && r.Body != "" || r.Status == 0 && r.Refuse == "" && r.RetryAfter != 0:
		return errors.New("body needs status, retry_after needs status or refuse")
	case kinds > 1:
		return errors.New("an answer (think, say, say_repeat, call), empty, no_content, block, status, garbage and refuse " +
			"exclude each other")
	case kinds == 0 && !r.Break && r.Hang == 0:
		return errors.New("no answer: give say, call, think, say_repeat, empty, no_content, block, status, refuse, " +
			"garbage, break or hang")
	case r.Break && (r.Status != 0 || r.Garbage || r.Refuse != ""):
		return errors.New("status, garbage and refuse exclude break")
	case r.Say != "" && r.SayRepeat != nil:
		return errors.New("say and say_repeat exclude each other")
	case bulk != nil && (bulk.Text == "" || bulk.Bytes < 1 || bulk.Bytes > maxRepeat):
		return fmt.Errorf("say_repeat needs a text and 1 to %d bytes", maxRepeat)
	case r.Chunks < 0 || r.Chunks > maxChunks:
		return fmt.Errorf("chunks is 0 to %d", maxChunks)
	case r.Times < 0 || min(r.Tokens, r.Cached, r.Thoughts, r.ToolTokens) < 0:
		return errors.New("a number is negative")
	case r.Delay < 0 || r.ChunkDelay < 0 || r.RetryAfter < 0 || r.Hang < 0:
		return errors.New("a duration is negative")
	}
	if err := r.checkNames(); err != nil {
		return err
	}
	texts := []string{r.Think, r.Say, r.Body}
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

// checkNames refuses reasons that the API does not have.
func (r *Rule) checkNames() error {
	if n := pb.Candidate_FinishReason_value[r.Finish]; r.Finish != "" && r.Finish != endless && n == 0 {
		return fmt.Errorf("finish %q is not a reason of the API, and not none", r.Finish)
	}
	if n := pb.GenerateContentResponse_PromptFeedback_BlockReason_value[r.Block]; r.Block != "" && n == 0 {
		return fmt.Errorf("block %q is not a reason of the API", r.Block)
	}
	if r.Refuse != "" && refusals[r.Refuse] == nil {
		return fmt.Errorf("refuse %q is none of %s", r.Refuse, kinds())
	}
	return nil
}

// kinds lists the refusals.
func kinds() string { return strings.Join(slices.Sorted(maps.Keys(refusals)), ", ") }

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
	return r.Status == 0 && !r.Garbage && !r.Empty && !r.NoContent && r.Block == "" && r.Refuse == "" &&
		r.Think == "" && r.Say == "" && r.SayRepeat == nil && len(r.Call) == 0
}

// capturing returns the pattern whose submatches the answer may use.
func (r *Rule) capturing() *Pattern {
	if r.When != nil {
		return r.When
	}
	return r.Tool
}

// refusal returns the error that the rule answers with, or nil.
func (r *Rule) refusal(model string, groups []string) *refusal {
	var out *refusal
	switch {
	case r.Refuse != "":
		out = refusals[r.Refuse](model)
	case r.Status != 0:
		out = &refusal{code: r.Status, message: expand(r.Body, groups)}
		if out.message == "" {
			out.message = "scripted error " + strconv.Itoa(r.Status)
		}
	default:
		return nil
	}
	if r.RetryAfter > 0 {
		out.retry = r.RetryAfter
	}
	return out
}
