package memory

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// dialogues is the environment variable with the path of a public set of long dialogues, locomo10.json of
// https://github.com/snap-research/locomo. It is not in this repository: its license does not allow that.
const dialogues = "MATRIX_TUI_DIALOGUES"

type dialogue struct {
	name     string
	sessions []session
	asked    []asked
}

type session struct {
	number int
	time   time.Time
	lines  []string // of an import
}

type asked struct {
	question string
	category int
	sessions []int // that contain the answer
}

func readDialogues(t *testing.T) []dialogue {
	t.Helper()
	path := os.Getenv(dialogues)
	if path == "" {
		t.Skipf("NOT MEASURED: recall on long dialogues needs %s, the path of locomo10.json", dialogues)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	var samples []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Evidence []string `json:"evidence"`
			Category int      `json:"category"`
		} `json:"qa"`
	}
	must(t, json.Unmarshal(data, &samples))
	evidence := regexp.MustCompile(`D(\d+):`)
	var all []dialogue
	for _, sample := range samples {
		d := dialogue{name: sample.ID}
		for n := 1; ; n++ {
			raw, ok := sample.Conversation[fmt.Sprintf("session_%d", n)]
			if !ok {
				break
			}
			d.sessions = append(d.sessions, readSession(t, n, sample.Conversation[fmt.Sprintf("session_%d_date_time", n)], raw))
		}
		for _, qa := range sample.QA {
			a := asked{question: qa.Question, category: qa.Category}
			for _, text := range qa.Evidence {
				for _, m := range evidence.FindAllStringSubmatch(text, -1) {
					n, _ := strconv.Atoi(m[1])
					a.sessions = append(a.sessions, n)
				}
			}
			if len(a.sessions) > 0 {
				d.asked = append(d.asked, a)
			}
		}
		all = append(all, d)
	}
	return all
}

func readSession(t *testing.T, n int, at, raw json.RawMessage) session {
	t.Helper()
	var text string
	must(t, json.Unmarshal(at, &text))
	when, err := time.Parse("3:04 pm on 2 January, 2006", text)
	must(t, err)
	var turns []struct {
		Speaker string `json:"speaker"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	must(t, json.Unmarshal(raw, &turns))
	s := session{number: n, time: when}
	for i, turn := range turns {
		content := turn.Text
		if turn.Caption != "" && os.Getenv(dialogues+"_CAPTIONS") != "" {
			content += " [" + turn.Caption + "]"
		}
		line, err := json.Marshal(map[string]string{"role": "user", "name": turn.Speaker, "content": content, "time": when.Add(time.Duration(i) * 20 * time.Second).Format(time.RFC3339)})
		must(t, err)
		s.lines = append(s.lines, string(line))
	}
	return s
}

// TestDialogues measures how often the session with the answer is ranked first, and among the first five.
func TestDialogues(t *testing.T) {
	all := readDialogues(t)
	for _, shape := range []struct {
		name       string
		perSession bool // a file per session
		together   bool // all conversations in one room
	}{{name: "a file per conversation"}, {"a file per session", true, false}, {"all in one room", false, true}} {
		dir := t.TempDir()
		var odd, even tally
		took := time.Duration(0)
		for i, d := range all {
			if !shape.together || i == 0 {
				for j, other := range all {
					if j == i || shape.together {
						importDialogue(t, dir, room(i, shape.together), other, shape.perSession)
					}
				}
			}
			x, err := Open(t.Context(), dir, room(i, shape.together))
			must(t, err)
			for _, a := range d.asked {
				begin := time.Now()
				hits, err := x.Search(t.Context(), Query{Text: a.question, Max: 5})
				must(t, err)
				took += time.Since(begin)
				rank := -1
				for n, hit := range hits {
					if rank < 0 && d.has(a, hit, shape.together) {
						rank = n
					}
				}
				if i%2 == 0 {
					even.add(a.category, rank)
				} else {
					odd.add(a.category, rank)
				}
			}
			must(t, x.Close())
		}
		first, five := odd.plus(even).share()
		t.Logf("%-24s first %.3f, among five %.3f; halves %s and %s; %s; %v per search",
			shape.name, first, five, even, odd, odd.plus(even).byCategory(), (took / time.Duration(odd.plus(even).count())).Round(10*time.Microsecond))
		if !shape.together && (first < 0.70 || five < 0.92) {
			t.Errorf("%s: first %.3f, want 0.70; among five %.3f, want 0.92", shape.name, first, five)
		}
	}
}

func room(i int, together bool) string {
	if together {
		i = 0
	}
	return fmt.Sprintf("!%d:x", i)
}

func importDialogue(t *testing.T, dir, room string, d dialogue, perSession bool) {
	t.Helper()
	x, err := Open(t.Context(), dir, room)
	must(t, err)
	var lines []string
	for _, s := range d.sessions {
		lines = append(lines, s.lines...)
		if perSession {
			imported(t, x, filepath.Join(d.name, fmt.Sprintf("session_%d.jsonl", s.number)), strings.Join(lines, "\n"))
			lines = nil
		}
	}
	if !perSession {
		imported(t, x, d.name+".jsonl", strings.Join(lines, "\n")+"\n")
	}
	must(t, x.Close())
}

// has reports whether a hit is of a session with the answer.
func (d dialogue) has(a asked, hit Hit, together bool) bool {
	if together && !strings.HasPrefix(hit.Path, d.name) {
		return false
	}
	for _, s := range d.sessions {
		if slices.Contains(a.sessions, s.number) && hit.Time.Sub(s.time).Abs() < 12*time.Hour {
			return true
		}
	}
	return false
}

// tally counts ranks by category.
type tally map[int][3]int

func (t *tally) add(category, rank int) {
	if *t == nil {
		*t = tally{}
	}
	n := (*t)[category]
	n[2]++
	if rank == 0 {
		n[0]++
	}
	if rank >= 0 {
		n[1]++
	}
	(*t)[category] = n
}

func (t tally) plus(other tally) tally {
	out := tally{}
	for _, all := range []tally{t, other} {
		for category, n := range all {
			o := out[category]
			for i := range n {
				o[i] += n[i]
			}
			out[category] = o
		}
	}
	return out
}

func (t tally) count() (n int) {
	for _, c := range t {
		n += c[2]
	}
	return n
}

func (t tally) share() (first, five float64) {
	n := [3]int{}
	for _, c := range t {
		for i := range c {
			n[i] += c[i]
		}
	}
	return float64(n[0]) / float64(n[2]), float64(n[1]) / float64(n[2])
}

func (t tally) String() string {
	first, five := t.share()
	return fmt.Sprintf("%.3f/%.3f", first, five)
}

func (t tally) byCategory() string {
	var out []string
	for c := 1; c <= 5; c++ {
		n := t[c]
		out = append(out, fmt.Sprintf("%d: %.2f/%.2f", c, float64(n[0])/float64(max(n[2], 1)), float64(n[1])/float64(max(n[2], 1))))
	}
	return strings.Join(out, ", ")
}
