package decide

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"matrix-tui/bot/policy"
	"matrix-tui/state"
)

const (
	// echoRounds is how often in a row somebody must repeat the bot's last answer to be taken for a bot.
	echoRounds = 3
	// echoWithin is how soon after an answer another bot writes.
	echoWithin = 10 * time.Second
	// echoExtra is the number of words that a repetition may add, such as a name.
	echoExtra = 2
	// tirelessRounds is how often in a row somebody must write faster than people do to be taken for a bot.
	tirelessRounds = 10
	// fastest is how many characters people read, invent and type in a second at most; leastTyped is the shortest text
	// that counts.
	fastest, leastTyped = 15, 40

	echoText = "🔁 I have stopped answering here, because somebody repeats each of my answers: that looks like another " +
		"bot. Say something else, or mention me, and I will answer again."
	tirelessText = "🔁 I have stopped answering here, because somebody answers each of my messages faster than people " +
		"type: that looks like another bot. Mention me, and I will answer again."
)

// isBot handles a message that would be a task if it comes from another bot, which answering would never end: it
// repeats the last answer, as the last tasks did, or what the room was told then; or it comes faster than people type,
// as the last tasks did. The room is told once. A message that mentions the bot or that comes from somebody else is a
// task.
func (r *Room) isBot(ctx context.Context, row state.Event) (bool, error) {
	m, _ := row.Message()
	if r.Judge.Addressee(m) == policy.TheBot {
		return false, nil
	}
	tasks, err := r.Env.Journal.Tasks.Newest(ctx, r.Env.ID, tirelessRounds)
	if err != nil || len(tasks) == 0 || tasks[0].Requester != row.Sender {
		return false, err
	}
	said := another(tasks, m.Words(), time.Since(tasks[0].Updated))
	if said == "" {
		return false, nil
	}
	told := r.Out.Notice(state.KindReply, tasks[0].Key+"-echo", said)
	if err := r.Out.Reply(ctx, []state.Message{told}, row.ID); err != nil {
		return false, fmt.Errorf("tell about another bot: %w", err)
	}
	r.Env.Log.Info().Str("room", r.Env.ID).Str("sender", row.Sender).
		Msg("a message seems to come from another bot: ignored")
	return true, nil
}

// another returns what the room is told if words that come this long after the last of the tasks, newest first, seem to
// come from another bot, else "".
func another(tasks []state.Task, words string, after time.Duration) string {
	switch last := tasks[0]; {
	case len(tasks) >= echoRounds && repeating(tasks[:echoRounds]) &&
		(saysAgain(words, last.Result) || saysAgain(words, echoText)):
		return echoText
	case len(tasks) == tirelessRounds && last.Ended != "" && tireless(tasks) && isFast(words, after):
		return tirelessText
	}
	return ""
}

// tireless reports whether each of these tasks, newest first, came faster after the result of the one before than
// people type. They come from the same person.
func tireless(tasks []state.Task) bool {
	for i, rec := range tasks[:len(tasks)-1] {
		before := tasks[i+1]
		if rec.Requester != before.Requester || !isFast(rec.Text, rec.Created.Sub(before.Updated)) {
			return false
		}
	}
	return true
}

// isFast reports whether nobody types a text in this time. What was written before the answer came is no answer to it.
func isFast(text string, in time.Duration) bool {
	n := utf8.RuneCountInString(text)
	return n >= leastTyped && in >= 0 && in < echoWithin && float64(n) > fastest*in.Seconds()
}

// repeating reports whether each of these tasks, newest first, repeats the result of the one before at once. They come
// from the same person.
func repeating(tasks []state.Task) bool {
	for i, rec := range tasks[:len(tasks)-1] {
		before := tasks[i+1]
		if rec.Requester != before.Requester || rec.Created.Sub(before.Updated) > echoWithin ||
			!saysAgain(rec.Text, before.Result) {
			return false
		}
	}
	return true
}

// saysAgain reports whether a text says what an answer says, and hardly anything else. Marks do not count, because the
// other bot may have the answer as plain text.
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
	return strings.FieldsFunc(strings.ToLower(text),
		func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}
