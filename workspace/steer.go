package workspace

import "strings"

const (
	// MaxSteer bounds what people said while the task ran, in bytes of a prompt.
	MaxSteer = 12 << 10
	// maxSteered bounds one such message, in bytes.
	maxSteered = 8_000
)

// steering returns what people said while the task was running, oldest first, keeping
// the newest that fit; "" if there is nothing.
func steering(steer []Message) string {
	const older = "(older ones left out)\n"
	var out []string
	left := MaxSteer - len(older)
	for i := len(steer) - 1; i >= 0; i-- {
		line := "[" + speaker(steer[i].Sender) + "]: " + lines(steer[i].Text, maxSteered) + "\n"
		if left -= len(line); left < 0 {
			out = append([]string{older}, out...)
			break
		}
		out = append([]string{line}, out...)
	}
	return strings.Join(out, "")
}
