package bottest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"matrix-tui/bot/bottest/person"
)

// minTold is the minimum length, in bytes, of a message's line that cannot be in the log by chance.
const minTold = 12

// inspect looks for what the bot's log, at its most verbose level, must never contain: secrets, and what people and
// agent said.
func (sc *script) inspect() {
	if sc.tb == nil {
		return
	}
	log, err := os.ReadFile(sc.bot.log)
	if err != nil {
		return
	}
	text := string(log)
	for _, what := range slices.Concat(secretsIn(text, sc.secrets()), spokenIn(text, sc.spoken())) {
		sc.tb.Errorf("the bot's log has %s", what)
	}
	for _, cry := range []string{"DATA RACE", "panic: ", "fatal error: "} {
		if sc.mayPanic && cry == "panic: " {
			continue
		}
		if i := strings.Index(text, cry); i >= 0 {
			sc.tb.Errorf("the bot's log has %q:\n%s", cry, text[i:min(len(text), i+6000)])
		}
	}
}

// secrets are the secrets that the bot knows, with a description.
func (sc *script) secrets() map[string]string {
	all := map[string]string{"the API key": sc.key, "the bot's password": sc.bot.password,
		"the token of the HTTP interface": sc.apiToken(), "the bot's access token": sc.token}
	for _, name := range []string{"crypto.key", "recovery-key"} {
		if data, err := os.ReadFile(filepath.Join(sc.state(), name)); err == nil {
			all["the content of "+name] = strings.TrimSpace(string(data))
		}
	}
	var account struct {
		Token string `json:"access_token"`
	}
	if data, err := os.ReadFile(filepath.Join(sc.state(), "account.json")); err == nil &&
		json.Unmarshal(data, &account) == nil {
		all["the stored access token"] = account.Token
	}
	return all
}

func secretsIn(log string, secrets map[string]string) (found []string) {
	for what, secret := range secrets {
		if secret != "" && strings.Contains(log, secret) {
			found = append(found, what)
		}
	}
	slices.Sort(found)
	return found
}

// spoken returns what the script's people said, and what the agent answered.
func (sc *script) spoken() (texts []string) {
	for _, p := range sc.people {
		for _, r := range sc.rooms {
			for _, m := range p.Messages(r.id) {
				if m.Type == "m.room.message" && (m.Sender == p.ID() || sc.isAnswer(m)) {
					texts = append(texts, m.Body)
				}
			}
		}
	}
	return texts
}

// isAnswer distinguishes the agent's text from the bot's own messages.
func (sc *script) isAnswer(m person.Msg) bool {
	return m.Sender == sc.bot.id && m.Final() && !strings.Contains(m.Body, "⚠️")
}

// nameOnly reports whether a text is only the name of somebody or of a room: names may be in the log.
var nameOnly = regexp.MustCompile(`^[@!#][^\s:]+:\S+$`)

// spokenIn finds the lines of texts that occur in a log, as they are or encoded as JSON.
func spokenIn(log string, texts []string) (found []string) {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if len(line) < minTold || nameOnly.MatchString(line) {
				continue
			}
			quoted, _ := json.Marshal(line) // cannot fail for a string
			escaped := strings.Trim(string(quoted), `"`)
			if what := fmt.Sprintf("what was said: %q", line); (strings.Contains(log, line) || strings.Contains(log, escaped)) &&
				!slices.Contains(found, what) {
				found = append(found, what)
			}
		}
	}
	return found
}
