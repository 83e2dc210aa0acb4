package agenttest

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reply is one answer in the API's format; a stream consists of several.
type reply struct {
	Candidates     []candidate `json:"candidates,omitempty"`
	PromptFeedback *feedback   `json:"promptFeedback,omitempty"`
	UsageMetadata  usage       `json:"usageMetadata"`
	ModelVersion   string      `json:"modelVersion"`
	ResponseID     string      `json:"responseId"`
}

type candidate struct {
	Content      *content `json:"content,omitempty"`
	FinishReason string   `json:"finishReason,omitempty"`
	Index        int      `json:"index"`
}

type feedback struct {
	BlockReason string `json:"blockReason"`
}

type usage struct {
	PromptTokenCount        int `json:"promptTokenCount"`
	CachedContentTokenCount int `json:"cachedContentTokenCount,omitempty"`
	CandidatesTokenCount    int `json:"candidatesTokenCount,omitempty"`
	ToolUsePromptTokenCount int `json:"toolUsePromptTokenCount,omitempty"`
	ThoughtsTokenCount      int `json:"thoughtsTokenCount,omitempty"`
	TotalTokenCount         int `json:"totalTokenCount"`
}

// tokens estimates the number of tokens: one for every four bytes.
func tokens(s string) int { return (len(s) + 3) / 4 }

// text returns the rule's text.
func (r *Rule) text(groups []string) string {
	if r.SayRepeat == nil {
		return expand(r.Say, groups)
	}
	n := r.SayRepeat.Bytes
	var b strings.Builder
	for i := 1; b.Len() < n; i++ {
		b.WriteString(strings.ReplaceAll(r.SayRepeat.Text, "{{n}}", strconv.Itoa(i)))
	}
	return strings.ToValidUTF8(b.String()[:n], "")
}

// calls returns the parts of the answer that call tools. Each call has an ID; the first has a thought signature.
func (r *Rule) calls(groups []string) []part {
	var out []part
	for i, c := range r.Call {
		args, _ := expandAny(c.Args, groups).(map[string]any)
		if args == nil {
			args = map[string]any{}
		}
		p := part{FunctionCall: &functionCall{ID: strings.ToLower(rand.Text()[:8]), Name: c.Name, Args: args}}
		if i == 0 {
			p.ThoughtSignature = base64.StdEncoding.EncodeToString(sign(c.Name, args))
		}
		out = append(out, p)
	}
	return out
}

// contents returns the pieces of the answer: the thought, the text in pieces, and all calls at once. Nil is a candidate
// without content.
func (r *Rule) contents(groups []string) []*content {
	var out []*content
	add := func(parts ...part) { out = append(out, &content{Role: "model", Parts: parts}) }
	if r.Think != "" {
		add(part{Text: expand(r.Think, groups), Thought: true})
	}
	for _, piece := range pieces(r.text(groups), r.Chunks) {
		add(part{Text: piece})
	}
	if calls := r.calls(groups); len(calls) > 0 {
		add(calls...)
	}
	switch {
	case r.NoContent:
		out = append(out, nil)
	case len(out) == 0:
		add()
	}
	return out
}

// replies returns the answer as a stream. Prompt is the number of tokens of the request.
func (r *Rule) replies(groups []string, model, id string, prompt int) []reply {
	used := usage{PromptTokenCount: cmp.Or(r.Tokens, prompt), CachedContentTokenCount: r.Cached,
		ToolUsePromptTokenCount: r.ToolTokens, ThoughtsTokenCount: r.Thoughts}
	finish := func(u usage) reply {
		u.TotalTokenCount = u.PromptTokenCount + u.CandidatesTokenCount + u.ToolUsePromptTokenCount + u.ThoughtsTokenCount
		return reply{UsageMetadata: u, ModelVersion: model, ResponseID: id}
	}
	if r.Block != "" {
		blocked := finish(used)
		blocked.PromptFeedback = &feedback{r.Block}
		return []reply{blocked}
	}
	var out []reply
	for _, c := range r.contents(groups) {
		if c != nil {
			for _, p := range c.Parts {
				switch {
				case p.Thought && r.Thoughts == 0:
					used.ThoughtsTokenCount += tokens(p.Text)
				case p.FunctionCall != nil:
					used.CandidatesTokenCount += 20
				case !p.Thought:
					used.CandidatesTokenCount += tokens(p.Text)
				}
			}
		}
		one := finish(used)
		one.Candidates = []candidate{{Content: c}}
		out = append(out, one)
	}
	if r.Finish != endless {
		out[len(out)-1].Candidates[0].FinishReason = cmp.Or(r.Finish, "STOP")
	}
	return out
}

// joined merges the replies of a stream into one.
func joined(in []reply) []reply {
	last := in[len(in)-1]
	if len(last.Candidates) == 0 || last.Candidates[0].Content == nil {
		return []reply{last}
	}
	all := &content{Role: "model"}
	for _, r := range in {
		for _, p := range r.Candidates[0].Content.Parts {
			n := len(all.Parts)
			if n > 0 && p.FunctionCall == nil && all.Parts[n-1].FunctionCall == nil && all.Parts[n-1].Thought == p.Thought {
				all.Parts[n-1].Text += p.Text
				continue
			}
			all.Parts = append(all.Parts, p)
		}
	}
	last.Candidates[0].Content = all
	return []reply{last}
}

// pieces splits s into n parts of about the same size, never inside a character. For n = 0 it returns one part, for s =
// "" none.
func pieces(s string, n int) []string {
	var out []string
	for n = max(n, 1); s != ""; n-- {
		cut := (len(s) + max(n, 1) - 1) / max(n, 1)
		for cut < len(s) && !utf8.RuneStart(s[cut]) {
			cut++
		}
		out = append(out, s[:cut])
		s = s[cut:]
	}
	return out
}
