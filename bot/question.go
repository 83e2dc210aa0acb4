package bot

import (
	"context"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/task"
	"matrix-tui/state"
)

// doReaction does a reaction that chooses an option, or stops a task. Any other
// is none of ours.
func (r *room) doReaction(ctx context.Context, row state.Inbound) error {
	e, _ := parseEvent(row.Raw)
	react, _ := e.reaction()
	target, about, err := r.taskOf(ctx, react.EventID)
	if err != nil {
		return err
	}
	if target == nil {
		return r.finish(ctx, row)
	}
	if strings.TrimRight(react.Key, "\uFE0F") == stopKey {
		r.books.Lock()
		defer r.books.Unlock()
		return r.stop(ctx, target.Key, row)
	}
	if !asks(about) {
		return r.finish(ctx, row)
	}
	t, n := r.env.Task(*target), about.Number
	switch v := ofQuestion(target.State, n, len(target.Answers)); v {
	case isAnswer:
		answer, ok := agent.Chosen(t.Options(), react.Key)
		if !ok {
			break
		}
		if t.IsHeld() && task.IsYes(answer) && !e.Decrypted {
			encrypted, err := r.bot.account.IsEncrypted(ctx, r.id)
			if err != nil {
				return err
			}
			if encrypted {
				return r.tell(ctx, row, "Reactions are not encrypted, so your server could have added that ✅. To run the command, reply `yes` to my question.")
			}
		}
		return r.bind(ctx, row, target.Key, answer)
	case isLate:
		asked := target.Answers[n].Question
		if _, ok := agent.Chosen(agent.Options(asked), react.Key); ok || react.Key == task.YesKey || react.Key == task.NoKey {
			return r.tooLate(ctx, row, *target, v)
		}
	}
	return r.finish(ctx, row)
}
