package agent

import (
	"path"
	"regexp"
	"strings"
	"time"

	"matrix-tui/sandbox"
)

const (
	// heldText tells the model that a command needs approval.
	heldText = "Not run: a person is being asked whether this command may run. Stop here: call no further tool, try no " +
		"other way, and end your answer. " +
		"The next message says what they decided; on a yes the command was run for you, and it says what came of it."
	// heldSaid ends the model's turn, because a model that is refused one way looks for
	// another.
	heldSaid = "I wait until a person has decided about that command."
	// maxApproved bounds the output of an approved command, in bytes.
	maxApproved = 1 << 20
)

// ApprovedRun is the run of an approved command. The same id runs once, however often it is started. The command has a
// task's environment; zone is the room's time zone. Its stderr goes to its stdout, in order.
func ApprovedRun(id string, h Held, zone *time.Location) sandbox.RunSpec {
	return sandbox.RunSpec{
		ID: id, Argv: []string{"bash", "-c", `exec bash -c "$1" 2>&1`, "bash", h.Command},
		Env: append(environment(zone), nodeProxy),
		Dir: heldDir(h.Dir), MaxOutput: maxApproved,
	}
}

// heldDir returns the directory to run in: dir, or /workspace if dir is not a valid
// path.
func heldDir(dir string) string {
	if !path.IsAbs(dir) || len(dir) >= 4096 || strings.IndexByte(dir, 0) >= 0 {
		return workDir
	}
	return path.Clean(dir)
}

// Parts of the patterns. They mean the same in Go's regular expressions and in JavaScript's. No part can match the same
// text in many ways; JavaScript would take forever to try them.
const (
	blanks = `[ \t\r\n\\]+`                    // a line continues after a backslash
	apart  = `["']?[ \t\r\n\\,[]+["']?`        // between words, which may be quoted or in a list
	quoted = `(?:"[^"\n]*"|'[^'\n]*')`         // within a line
	bare   = `[^ \t\r\n\\"'` + "`" + `;&|,()]` // one character of a word
	// option is what may come before the next word, with its value: -C dir.
	option = apart + `-` + bare + `*` + quoted + `?(?:["']?[ \t\r\n\\,]+(?:[^ \t\r\n\\"'` + "`" + `;&|,()-]` + bare + `*` +
		quoted + `?|` + quoted + `))?`
	// start is where a command can begin, as far as one can tell without being a shell. A quote counts because of bash
	// -c '…'.
	start = `(?:^|[;&|(){}!\r\n"'` + "`" + `])[ \t\\]*` + before
	// before is what can come between there and the command itself: keywords, the environment, a command that runs
	// another, the folder of the executable.
	before = `(?:(?:then|do|else|if|elif|while|until|time)` + blanks + `){0,4}` +
		`(?:[A-Za-z_][A-Za-z0-9_]*=` + bare + `*` + blanks + `){0,8}` +
		`(?:` + folder + `(?:sudo|doas|su|env|command|exec|nohup|eval|xargs|time|timeout|nice|ionice|setsid|stdbuf)[ \t\r\n\\](?:[^;&|\r\n]{0,300}[ \t\\"'])?)?` +
		folder
	folder = `(?:[^ \t\r\n\\"'` + "`" + `;&|(){}!=]*/)?`
	end    = `(?:[^A-Za-z0-9_.-]|$)`
	// onwards is the rest of a command, up to the pipe it writes to.
	onwards = `(?:[^;&"'\r\n\\]|\\\r?\n|\\[^\r\n]|>&|\|&|` + quoted + `){0,400}\|&?[ \t\r\n\\({]*`
)

// patterns returns regular expressions for commands that begin with one of the approvals. They are a guard rail for a
// well-meaning agent, not a security boundary: they do not see a command inside a script, or one assembled from parts.
// When in doubt, they match.
func patterns(approvals []string) []string {
	all := []string{}
	for _, approval := range approvals {
		head, tail, piped := strings.Cut(strings.ToValidUTF8(approval, "\uFFFD"), "|")
		from, to := words(head), words(tail)
		switch {
		case from == "" && to == "":
		case !piped || to == "":
			all = append(all, start+from+end)
		case from == "":
			all = append(all, `\|&?[ \t\r\n\\({]*`+before+to+end)
		default:
			all = append(all, `(?:^|[^A-Za-z0-9_.-])`+from+`[ \t\r\n\\]`+onwards+before+to+end)
		}
	}
	return all
}

// words returns the pattern for words with options between them; "" if there are none.
// curl and wget match each other, and so do the shells.
func words(text string) string {
	var all []string
	for _, word := range strings.Fields(text) {
		switch strings.Trim(word, ".…") {
		case "":
			continue
		case "curl", "wget":
			word = "(?:curl|wget)"
		case "sh":
			word = "(?:ba|z|da|k|a)?sh"
		default:
			word = regexp.QuoteMeta(word)
		}
		all = append(all, word)
	}
	return strings.Join(all, `(?:`+option+`){0,8}`+apart)
}
