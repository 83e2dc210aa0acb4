// Package clitest plays subcommands in tests.
package clitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/cli"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// Hidden is a secret that no output may contain.
const Hidden = "hunter2-hunter2"

// Played is the result of a subcommand.
type Played struct {
	Code           int
	Stdout, Stderr string
}

// Play runs matrix-tui in this process, with only these settings and an empty input.
func Play(t *testing.T, ctx context.Context, commands []cli.Command, environ []string, args ...string) Played {
	t.Helper()
	empty, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	var stdout, stderr bytes.Buffer
	a := &cli.App{Environ: environ, Dir: t.TempDir(), Stdin: empty, Stdout: &stdout, Stderr: &stderr}
	code := cli.Dispatch(ctx, a, commands, args)
	return Played{code, stdout.String(), stderr.String()}
}

// leaks finds the secret in plain text, in hex and in pieces.
func Leaks(out string) bool {
	for _, form := range []string{Hidden, Hidden[:7], fmt.Sprintf("%x", Hidden[:7]), fmt.Sprintf("%X", Hidden[:7])} {
		if strings.Contains(out, form) {
			return true
		}
	}
	return false
}

// Write creates a file of a test.
func Write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// KeepRooms fills a state folder like a bot's: three rooms with a container, one without, and questions in one of them.
func KeepRooms(t *testing.T, dir string) (*state.Store, *state.Journal) {
	t.Helper()
	ctx := t.Context()
	journal, store, err := state.Open(ctx, dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = store.Close(), journal.Close() })
	for room, name := range map[string]string{"!a:x": "sandbox-a", "!b:x": "sandbox-b", "!c:x": "sandbox-c"} {
		if err := store.Containers.Set(ctx, room, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Conversations.Append(ctx, "!d:x", state.Turn{Role: "user", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.Local) }
	put := func(room, id, text string, minute int, to state.TaskState, asked int) {
		t.Helper()
		_, err := journal.Events.Commit(ctx, "s1", []state.Event{{Status: state.Pending,
			Event: event.Event{Room: room, ID: id, Type: event.TypeMessage, Time: at(minute)}}})
		task := state.Task{Key: id, Room: room, Event: id, Home: room, Execution: id, Text: text, Time: at(minute),
			Updated: at(asked)}
		err = errors.Join(err, journal.Tasks.Enqueue(ctx, task), journal.Tasks.Claim(ctx, task))
		switch to {
		case state.TaskAnswered:
			err = errors.Join(err, journal.Tasks.Answer(ctx, task, nil))
		case state.TaskWaiting:
			err = errors.Join(err, journal.Tasks.Wait(ctx, task, nil))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("!a:x", "$1", "an older one", 1, state.TaskRunning, 1)
	put("!b:x", "$2", "make\nit \x1b[31mred\x1b[0m "+strings.Repeat("long ", 20), 2, state.TaskRunning, 2)
	put("!a:x", "$3", "the newest", 3, state.TaskAnswered, 3)
	put("!c:x", "$4", "back up", 4, state.TaskWaiting, 8)
	put("!c:x", "$5", "deploy", 5, state.TaskWaiting, 7)
	put("!c:x", "$6", "the last that asks", 9, state.TaskWaiting, 9)
	return store, journal
}

// KeepMore adds files to a state folder: a bot's other files, and files of the host.
func KeepMore(t *testing.T, dir string) {
	t.Helper()
	for _, sub := range []string{"transcripts", "gateway/0123", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"account.json": `{"homeserver":"http://x","user_id":"@bot:x","access_token":"` + Hidden + `"}`, "crypto.key": "k\n",
		"recovery-key": "r\n",
		"policy.yaml":  "defaults: {}\n", "pirate.md": "arr\n", ".env": "GEMINI_MODEL=m\n",
		"transcripts/sandbox-a.jsonl": "{}\n",
		"lock":                        "1\n", "update.json": "{}", ".bashrc": "x", "state.json.corrupt-1": "x", "tmp/x": "x",
		"old.tar.gz": "x",
	} {
		Write(t, filepath.Join(dir, name), text)
	}
}
