package bottest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/person"
)

func doKeys(ctx context.Context, sc *script, _ bool, args []string) error {
	p, err := sc.person(args[0])
	if err != nil {
		return err
	}
	switch args[1] {
	case "hold":
		return p.HoldKeys(ctx, true)
	case "release":
		return p.HoldKeys(ctx, false)
	}
	return fmt.Errorf("hold or release, not %s", args[1])
}

// doToken logs in as the bot, like an operator who wants a token for it; the session stays.
func doToken(ctx context.Context, sc *script, _ bool, _ []string) error {
	if err := sc.account(ctx); err != nil {
		return err
	}
	token, err := person.Token(ctx, person.Config{
		Homeserver: sc.home.URL(), Name: sc.bot.localpart, Password: sc.bot.password, Log: zerolog.Nop(),
	})
	if err != nil {
		return err
	}
	sc.token = token
	sc.ts.Setenv("token", token)
	return nil
}

// doCleartext searches every event of the room as the homeserver has it, and every file of the homeserver, including
// its databases and media.
func doCleartext(ctx context.Context, sc *script, neg bool, args []string) error {
	r, re, err := sc.roomAndPattern(args)
	if err != nil {
		return err
	}
	if err := sc.quiet(ctx); err != nil {
		return err
	}
	events, err := sc.people[r.by].Raw(ctx, r.id)
	if err != nil {
		return err
	}
	where := ""
	for _, raw := range events {
		if re.Match(raw) {
			where = "an event: " + cut(string(raw), 500)
			break
		}
	}
	if where == "" {
		if where, err = holds(sc.home, re); err != nil {
			return err
		}
	}
	switch {
	case neg && where != "":
		return fmt.Errorf("the homeserver has seen it in %s", where)
	case !neg && where == "":
		return fmt.Errorf("the homeserver has never seen it, in %d events and its files", len(events))
	}
	return nil
}

// holds returns a file of the homeserver that matches, "" for none. Regular expressions are slow on many megabytes, so
// only files that contain one of the expression's words are matched. One in forty encrypted files of 230 KB contains any
// three bytes by chance, so a word has four or more.
func holds(h *host.Homeserver, re *regexp.Regexp) (name string, err error) {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return "", err
	}
	needed := words(tree)
	if needed == nil || slices.ContainsFunc(needed, func(word string) bool { return len(word) < 4 }) {
		return "", fmt.Errorf("%s may match what is encrypted: it needs four bytes that are always the same", re)
	}
	may := func(data []byte) bool {
		return slices.ContainsFunc(needed, func(word string) bool { return bytes.Contains(data, []byte(word)) })
	}
	err = filepath.WalkDir(h.Data(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // it has just been removed
		}
		data, err := os.ReadFile(path)
		if err == nil && may(data) && re.Match(data) {
			name = path
			return fs.SkipAll
		}
		return nil
	})
	return name, err
}

// words returns texts of which every match of the expression contains at least one, nil if there is no such list.
func words(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return words(re.Sub[0])
	case syntax.OpConcat:
		for _, part := range re.Sub {
			if all := words(part); all != nil {
				return all
			}
		}
	case syntax.OpAlternate:
		var all []string
		for _, branch := range re.Sub {
			one := words(branch)
			if one == nil {
				return nil
			}
			all = append(all, one...)
		}
		return all
	}
	return nil
}

// doFileHas downloads the newest file that somebody else sent.
func doFileHas(ctx context.Context, sc *script, _ bool, args []string) error {
	p, room, re, err := sc.looking(args)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(p.Messages(room)) {
		if !heard(p, m) || m.URL == "" {
			continue
		}
		data, err := p.Download(ctx, m)
		if err != nil {
			return err
		}
		if !re.Match(data) {
			return fmt.Errorf("%s (%d bytes) begins with %q", m.Body, len(data), cut(string(data), 200))
		}
		return nil
	}
	return fmt.Errorf("nobody has sent a file")
}

// doVerify makes a person verify the bot with emojis that both sides show; in a room if one is named.
func doVerify(ctx context.Context, sc *script, neg bool, args []string) error {
	p, err := sc.person(args[0])
	if err != nil {
		return err
	}
	room := ""
	if len(args) > 1 {
		if _, room, err = sc.who(args[0], args[1]); err != nil {
			return err
		}
	}
	if neg {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if emojis, err := p.Verify(ctx, room, sc.bot.id); err == nil {
			return fmt.Errorf("the bot has answered, and shows %v", emojis)
		}
		return nil
	}
	emojis, err := p.Verify(ctx, room, sc.bot.id)
	if err != nil {
		return err
	}
	return sc.emojisLogged(ctx, emojis)
}

// emojisLogged waits until the bot has logged these emojis of a verification, and its end.
func (sc *script) emojisLogged(ctx context.Context, emojis []string) error {
	plain := strings.NewReplacer("\ufe0f", "") // only some clients ask for the coloured variant
	want, err := json.Marshal(emojis)
	if err != nil {
		return err
	}
	return host.Poll(ctx, func() (bool, error) {
		_, since, shown := strings.Cut(plain.Replace(sc.bot.now()), `"emojis":`+plain.Replace(string(want)))
		return shown && strings.Contains(since, "verification done"), nil
	})
}

func (sc *script) elementVerify(ctx context.Context, e *elementUser, args []string) error {
	request := map[string]any{"user": sc.bot.id}
	if len(args) > 0 {
		r, err := sc.room(args[0])
		if err != nil {
			return err
		}
		request["room"] = r.id
	}
	var emojis [][]string
	if err := e.Do(ctx, "verify", request, &emojis); err != nil {
		return err
	}
	var names []string
	for _, emoji := range emojis {
		names = append(names, strings.Join(emoji, " "))
	}
	return sc.emojisLogged(ctx, names)
}

func (sc *script) elementSign(ctx context.Context, e *elementUser, args []string) error {
	if len(args) == 0 {
		return e.Do(ctx, "identity", nil, nil)
	}
	other := sc.elements[args[0]]
	if other == nil {
		return fmt.Errorf("%s has no such client", args[0])
	}
	var key []int
	if err := other.Do(ctx, "key", nil, &key); err != nil {
		return err
	}
	return e.Do(ctx, "sign", map[string]any{"key": key}, nil)
}

func (sc *script) elementAgain(ctx context.Context, e *elementUser, _ []string) error {
	return e.Do(ctx, "again", nil, nil)
}

// review is what the client says about its rooms.
type review struct {
	Problems []string
	People   map[string]struct {
		Verified bool
		Approval bool // the identity has changed since it was first seen
		Devices  map[string]struct{ Signed, Verified bool }
	}
}

func (sc *script) elementTrusts(ctx context.Context, e *elementUser, args []string) error {
	if !slices.Contains([]string{"signed", "verified"}, args[0]) {
		return fmt.Errorf("signed or verified, not %s", args[0])
	}
	if err := sc.quiet(ctx); err != nil {
		return err
	}
	var problems []string
	err := host.Poll(ctx, func() (bool, error) {
		var now review
		if err := e.Do(ctx, "review", nil, &now); err != nil {
			return false, err
		}
		problems = now.Problems
		bot := now.People[sc.bot.id]
		if bot.Approval || bot.Verified != (args[0] == "verified") || len(bot.Devices) == 0 {
			problems = append(problems, fmt.Sprintf("the bot is %+v", bot))
		}
		for id, device := range bot.Devices {
			if !device.Signed || device.Verified != bot.Verified {
				problems = append(problems, fmt.Sprintf("the bot's device %s is %+v", id, device))
			}
		}
		return len(problems) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("Element warns: %w: %s", err, strings.Join(problems, "\n"))
	}
	return nil
}
