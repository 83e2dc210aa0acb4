package bot

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"matrix-tui/bot/matrix"
	"matrix-tui/bot/policy"
	"matrix-tui/state"
)

const (
	// echoRounds is how often in a row somebody must repeat the bot's last answer to be taken for a bot.
	echoRounds = 3
	// echoWithin is how soon after an answer its repetition comes.
	echoWithin = 10 * time.Second
	// echoExtra is the number of words that a repetition may add, such as a name.
	echoExtra = 2

	echoText = "🔁 I have stopped answering here, because somebody repeats each of my answers: that looks like another bot. Say something else, or mention me, and I go on."
)

// isEcho handles a message that would be a task if it repeats the last answer, as the last tasks did, or what the room was
// told then: that is another bot, and answering it would never end. The room is told once. A message that says something
// else, that mentions the bot or that comes from somebody else is a task.
func (r *room) isEcho(ctx context.Context, row state.Event) (bool, error) {
	m, _ := row.Message()
	if r.bot.addressee(m) == policy.TheBot {
		return false, nil
	}
	tasks, err := r.bot.Journal.LastTasks(ctx, r.id, echoRounds)
	if err != nil || len(tasks) < echoRounds || tasks[0].Requester != row.Sender || !repeating(tasks) {
		return false, err
	}
	text := taskText(m)
	if !saysAgain(text, tasks[0].Result) && !saysAgain(text, echoText) {
		return false, nil
	}
	told := r.out(state.KindReply, tasks[0].Key+"-echo", matrix.Notice(echoText))
	if err := r.reply(ctx, []state.Message{told}, row.ID); err != nil {
		return false, fmt.Errorf("tell about an echo: %w", err)
	}
	r.bot.log.Info().Str("room", r.id).Str("sender", row.Sender).Msg("a message repeats the last answer, as those before it did: ignored")
	return true, nil
}

// repeating reports whether each of these tasks, newest first, repeats the result of the one before at once. They come
// from the same person.
func repeating(tasks []state.Task) bool {
	for i, rec := range tasks[:len(tasks)-1] {
		before := tasks[i+1]
		if rec.Requester != before.Requester || rec.Created.Sub(before.Updated) > echoWithin || !saysAgain(rec.Text, before.Result) {
			return false
		}
	}
	return true
}

// saysAgain reports whether a text says what an answer says, and hardly anything else. Marks do not count, because the other
// bot may have the answer as plain text.
func saysAgain(text, answer string) bool {
	said, want := wordsIn(text), wordsIn(answer)
	counts := map[string]int{}
	for _, word := range want {
		counts[word]++
	}
	extra := 0
	for _, word := range said {
		if counts[word]--; counts[word] < 0 {
			extra++
		}
	}
	missing := len(want) - (len(said) - extra)
	return len(want) > 0 && extra <= min(echoExtra, len(want)/4) && missing <= len(want)/5
}

func wordsIn(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}
