package agent

import (
	"path"
	"regexp"
	"strings"

	"matrix-tui/sandbox"
)

const (
	// heldText is what the model is told about a command that is held back.
	heldText = "Not run: a person is being asked whether this command may run. Stop here: call no further tool, try no other way, and end your answer. " +
		"The next message says what they decided; on a yes the command was run for you, and it says what came of it."
	// heldSaid ends the model's turn in its place, because a model that is
	// refused one way looks for another.
	heldSaid = "I wait until a person has decided about that command."
	// maxApproved bounds the output of an approved command, in bytes.
	maxApproved = 1 << 20
)

// ApprovedRun is the run of a command that a person said yes to: id names it,
// so that it runs once however often it is asked for. It finds what a task's
// commands find; key is the placeholder for the API key. Its errors stand in
// its output, where they came.
func ApprovedRun(id string, h Held, key string) sandbox.RunSpec {
	return sandbox.RunSpec{
		ID: id, Argv: []string{"bash", "-c", `exec bash -c "$1" 2>&1`, "bash", h.Command}, Env: environment(key),
		Dir: heldDir(h.Dir), MaxOutput: maxApproved,
	}
}

// heldDir is a directory to run in: dir, or /workspace where it is no path.
func heldDir(dir string) string {
	if !path.IsAbs(dir) || len(dir) >= 4096 || strings.IndexByte(dir, 0) >= 0 {
		return workDir
	}
	return path.Clean(dir)
}

// Parts of the patterns. Go's regular expressions and JavaScript's read them
// alike, and no part can match the same text in many ways, which would take
// JavaScript's forever.
const (
	blanks = `[ \t\r\n\\]+`                    // a line goes on after a backslash
	apart  = `["']?[ \t\r\n\\,[]+["']?`        // between words, which may be quoted, or stand in a list
	quoted = `(?:"[^"\n]*"|'[^'\n]*')`         // in a line
	bare   = `[^ \t\r\n\\"'` + "`" + `;&|,()]` // a character of a word
	// option is what may stand before a further word, with its value: -C dir.
	option = apart + `-` + bare + `*` + quoted + `?(?:["']?[ \t\r\n\\,]+(?:[^ \t\r\n\\"'` + "`" + `;&|,()-]` + bare + `*` + quoted + `?|` + quoted + `))?`
	// start is where a command can begin, as far as one can tell without being
	// a shell: a quote is such a place for the sake of bash -c '…'.
	start = `(?:^|[;&|(){}!\r\n"'` + "`" + `])[ \t\\]*` + before
	// before is what can stand there before the command itself: keywords, the
	// environment, a command that runs another, the folder of its file.
	before = `(?:(?:then|do|else|if|elif|while|until|time)` + blanks + `){0,4}` +
		`(?:[A-Za-z_][A-Za-z0-9_]*=` + bare + `*` + blanks + `){0,8}` +
		`(?:` + folder + `(?:sudo|doas|su|env|command|exec|nohup|eval|xargs|time|timeout|nice|ionice|setsid|stdbuf)[ \t\r\n\\](?:[^;&|\r\n]{0,300}[ \t\\"'])?)?` +
		folder
	folder = `(?:[^ \t\r\n\\"'` + "`" + `;&|(){}!=]*/)?`
	end    = `(?:[^A-Za-z0-9_.-]|$)`
	// onwards is the rest of a command, up to a pipe that it writes to.
	onwards = `(?:[^;&"'\r\n\\]|\\\r?\n|\\[^\r\n]|>&|\|&|` + quoted + `){0,400}\|&?[ \t\r\n\\({]*`
)

// patterns are regular expressions for the commands that begin as one of the
// approvals says; a command that one of them finds itself in is held back. They
// are a guard rail for an agent that means well, and no boundary: a command in
// a script that is run, or put together from parts, is not found. Where they
// cannot tell, they find too much.
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

// words is the pattern of words with options between them; "" without any. A
// download is one by whatever program, and so is a shell.
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
