package bottest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"matrix-tui/bot/bottest/person"
)

// Kills plays every script in dir once to count the bot's effects between the verbs `drill` and `drilled`, and then
// once for each of them: the bot dies before that effect and is started again. which limits the numbers: see turns.
// With twice, the bot that was started again dies as well, while it recovers.
func Kills(t *testing.T, dir, which string, twice bool) {
	s := openSuite(t)
	counted, err := prepare(dir, filepath.Join(s.root, "scripts"), s.home.Name(), s.lacksSynapse())
	if err != nil {
		t.Fatal(err)
	}
	s.drills = map[string]*drill{}
	for _, file := range counted {
		s.drills[scriptName(file)] = &drill{}
	}
	if !t.Run("count", func(t *testing.T) { s.play(t, counted) }) {
		return
	}
	var files []string
	for _, file := range counted {
		effects := len(s.drills[scriptName(file)].log)
		turns, err := turns(which, effects)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d effects, of which %d are played", scriptName(file), effects, len(turns))
		for _, at := range turns {
			name := fmt.Sprintf("%s-%03d", scriptName(file), at)
			s.drills[name] = &drill{at: at}
			if twice {
				s.drills[name].second = 1 + at*37%61 // spread over the recovery
			}
			copied := filepath.Join(s.root, "scripts", name+".txtar")
			if err := os.Link(file, copied); err != nil {
				t.Fatal(err)
			}
			files = append(files, copied)
		}
	}
	if len(files) == 0 {
		t.Fatal("nothing to play: the bot has counted no effect, or KILLS names none of them")
	}
	t.Run("kill", func(t *testing.T) { s.play(t, files) })
	missed := 0
	for _, d := range s.drills {
		if d.at > 0 && len(d.killed) == 0 {
			missed++
		}
	}
	t.Logf("%d plays, of which %d ended before their effect", len(files), missed)
	if missed == len(files) {
		t.Error("no play reached its effect")
	}
}

func scriptName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// turns lists the numbers up to n that `FIRST-LAST/STEP` names; each part may be missing.
func turns(which string, n int) (list []int, err error) {
	which, step, _ := strings.Cut(which, "/")
	first, last, both := strings.Cut(which, "-")
	if !both {
		last = first
	}
	limits := []int{1, n, 1}
	for i, text := range []string{first, last, step} {
		if text == "" {
			continue
		}
		if limits[i], err = strconv.Atoi(text); err != nil || limits[i] < 1 {
			return nil, fmt.Errorf("%q is not FIRST-LAST/STEP", which+"/"+step)
		}
	}
	for i := limits[0]; i <= min(limits[1], n); i += limits[2] {
		list = append(list, i)
	}
	return list, nil
}

// drill is how often and when the bot of a script dies. Package bot/crash has the other side.
type drill struct {
	at     int // the effect before which it dies; 0 only counts
	second int // the same for the bot that is started again; 0 does not kill it

	dir    string
	mu     sync.Mutex
	killed []string // the effects before which it died
	log    []string // all effects
	cut    int      // how many answers of the model were on their way when it died
}

// prepareDrill makes the folder that both sides use.
func (sc *script) prepareDrill(d *drill) error {
	if sc.drill = d; d == nil {
		return nil
	}
	d.dir = filepath.Join(sc.dir, "kills")
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		return fmt.Errorf("create folder of the drill: %w", err)
	}
	sc.bot.set["MATRIX_TUI_KILLS"] = d.dir
	return nil
}

func (d *drill) file(name string) string { return filepath.Join(d.dir, name) }

// again is called when the bot has ended; it reports whether that was its turn.
func (d *drill) again() bool {
	killed, err := os.ReadFile(d.file("killed"))
	if err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed = append(d.killed, strings.TrimSpace(string(killed)))
	d.take()
	next := 0
	if len(d.killed) == 1 {
		next = d.second
	}
	return errors.Join(os.Remove(d.file("killed")), d.arm(next)) == nil
}

// died lists the effects before which the bot has died.
func (d *drill) died() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.killed)
}

// arm makes the next effect the first one.
func (d *drill) arm(at int) error {
	return os.WriteFile(d.file("at"), []byte(strconv.Itoa(at)), 0o600)
}

// take moves the effects of a bot that has ended from its file.
func (d *drill) take() {
	data, err := os.ReadFile(d.file("log"))
	if err != nil {
		return
	}
	_ = os.Remove(d.file("log"))
	asked := bytes.Count(data, []byte(" model POST"))
	if len(d.killed) > 0 && strings.Contains(d.killed[len(d.killed)-1], " model POST") {
		asked-- // it was not sent
	}
	d.cut += max(0, asked-bytes.Count(data, []byte(" model answered")))
	d.log = append(d.log, strings.Split(strings.TrimSpace(string(data)), "\n")...)
}

// doDrill begins to count the bot's effects.
func doDrill(_ context.Context, sc *script, _ bool, _ []string) error {
	if sc.drill == nil {
		return errors.New("this script is for deploy/test --kills")
	}
	return sc.drill.arm(sc.drill.at)
}

// doDrilled ends that, when the bot has finished everything.
func doDrilled(ctx context.Context, sc *script, _ bool, _ []string) error {
	if err := sc.quiet(ctx); err != nil {
		return err
	}
	d := sc.drill
	if err := os.Remove(d.file("at")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	cut := d.cut
	d.take()
	d.cut = cut
	sc.ts.Logf("%d effects; died before %q", len(d.log), d.killed)
	if d.at == 0 {
		sc.ts.Logf("%s", summary(d.log))
	}
	return sc.noneWorks(ctx)
}

// noneWorks fails if a notice of the bot still says that it works, when all is quiet. In a room that was upgraded,
// nobody may edit any more.
func (sc *script) noneWorks(ctx context.Context) error {
	for name, r := range sc.rooms {
		msgs, err := sc.settled(ctx, sc.people[r.by], r.id)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(msgs, func(m person.Msg) bool { return m.Type == "m.room.tombstone" }) {
			continue
		}
		said := map[string]string{}
		for _, m := range msgs {
			if m.Sender == sc.bot.id && m.Kind == "m.notice" {
				said[cmp.Or(m.EditOf, m.Event)] = m.Body
			}
		}
		for _, text := range said {
			if strings.HasPrefix(text, "⏳") {
				return fmt.Errorf("in %s the bot's notice still says %q", name, text)
			}
		}
	}
	return nil
}

// summary counts the effects of each kind.
func summary(log []string) string {
	kinds := map[string]int{}
	for _, line := range log {
		_, effect, _ := strings.Cut(line, " ")
		kinds[effect]++
	}
	var text strings.Builder
	for _, effect := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&text, "%5d %s\n", kinds[effect], effect)
	}
	return text.String()
}
