package bot

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"matrix-tui/agent"
	"matrix-tui/state"
)

const (
	editEvery  = 2 * time.Second  // at most so often is the notice edited
	idleEvery  = 10 * time.Second // and so often when only the time has changed
	lateEvery  = 30 * time.Second // and so often after a minute of that
	typingTime = 30 * time.Second
)

// progress is the notice that a running task keeps up to date, and the typing
// sign beside it. Its goroutine ends with stop.
type progress struct {
	t     *task
	since time.Time
	ctx   context.Context
	end   context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	last    string // the last tool with its main argument
	note    string // what is unusual, if anything
	changed bool
	tools   int
}

// noticeTxn is the transaction ID of the notice after n answers.
func (t *task) noticeTxn(n int) string {
	if n == 0 {
		return t.key + "-n"
	}
	return fmt.Sprintf("%s-n%d", t.key, n)
}

// noticeRow is the notice of the task at its present stretch: it replies to the
// task, or to the answer with which it goes on. It is the same after a restart.
func (t *task) noticeRow(text string) state.Outbound {
	n := len(t.rec.Execution.Answers)
	m := notice(text)
	m.RelatesTo = replyTo(t.anchor())
	if n > 0 {
		about := t.rec.Execution.Answers[n-1].Event
		if about == "" {
			about = txnRef + t.question(n-1)
		}
		m.RelatesTo = replyTo(about)
	}
	return t.room.out(t.noticeTxn(n), t.row.Event, m)
}

// goingOn is what the room is told when a task goes on with an answer.
func goingOn(a agent.Answer, busy bool) string {
	text := "⏳ Going on with the answer that came by HTTP: " + code(a.Answer)
	if a.By != "" {
		text = "⏳ Going on with " + localpart(a.By) + "'s answer"
		if a.Event == "" {
			text += ": " + code(a.Answer)
		}
	}
	if busy {
		text += ", when the running task is done"
	}
	return text + " …"
}

// showProgress queues the notice and keeps it up to date until stop.
func (t *task) showProgress(ctx context.Context) (*progress, error) {
	since := t.rec.Begun
	if since.IsZero() {
		since = time.Now()
	}
	p := &progress{t: t, since: since, done: make(chan struct{})}
	rows := []state.Outbound{t.noticeRow("⏳ Working on it …")}
	if t.row.Type == typeExecute {
		rows = append([]state.Outbound{t.arrival()}, rows...)
	}
	if err := t.queue(ctx, rows...); err != nil {
		return nil, err
	}
	p.ctx, p.end = context.WithCancel(ctx)
	go p.run()
	return p, nil
}

// stop ends the notice's edits; the last word on it is the answer's.
func (p *progress) stop() {
	p.end()
	<-p.done
}

// tool says which tool runs now.
func (p *progress) tool(name, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tools++
	p.last, p.note, p.changed = strings.TrimSpace(name+" "+code(detail)), "", true
}

// set says what is unusual; "" takes it back.
func (p *progress) set(note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.note != note {
		p.note, p.changed = note, true
	}
}

func (p *progress) run() {
	defer close(p.done)
	tick := time.NewTicker(editEvery)
	defer tick.Stop()
	typing := p.showTyping(p.ctx, time.Time{})
	edited := time.Now()
	for {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			p.farewell()
			return
		}
		typing = p.showTyping(p.ctx, typing)
		if text, due := p.due(edited); due && p.edit(p.ctx, text) {
			edited = time.Now()
		}
	}
}

// showTyping renews the typing sign when it is about to end.
func (p *progress) showTyping(ctx context.Context, last time.Time) time.Time {
	if time.Since(last) < typingTime*2/3 {
		return last
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := p.t.bot.client.UserTyping(ctx, roomID(p.t.id), true, typingTime); err != nil {
		p.t.bot.log.Debug().Err(err).Str("room", p.t.id).Msg("typing")
	}
	return time.Now()
}

// due returns the notice's text and whether it is time to show it.
func (p *progress) due(edited time.Time) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	every := idleEvery
	if time.Since(p.since) > time.Minute {
		every = lateEvery
	}
	if !p.changed && time.Since(edited) < every {
		return "", false
	}
	p.changed = false
	return progressText(time.Since(p.since), p.tools, p.last, p.note), true
}

// edit shows text in the notice, if the notice is there yet.
func (p *progress) edit(ctx context.Context, text string) bool {
	b := p.t.bot
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	sent, err := b.Journal.Outbound(ctx, p.t.noticeTxn(len(p.t.rec.Execution.Answers)))
	if err != nil || sent.Event == "" {
		return false
	}
	_, err = b.client.SendMessageEvent(ctx, roomID(p.t.id), messageType, edit(sent.Event, notice(text)))
	if err != nil {
		b.log.Debug().Err(err).Str("room", p.t.id).Msg("edit progress")
		_ = sleep(ctx, retryAfter(err, 0))
	}
	return true
}

// farewell says so when it is the bot that goes down and not the task that
// ends.
func (p *progress) farewell() {
	if p.t.bot.ctx.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 5*time.Second)
	defer cancel()
	p.edit(ctx, "🔄 I am restarting. The work goes on meanwhile, and so do I in a moment.")
}

// untype takes the typing sign back; the answer does not wait for it.
func (r *room) untype() {
	b := r.bot
	b.start(func() {
		ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
		defer cancel()
		_, _ = b.client.UserTyping(ctx, roomID(r.id), false, 0)
	})
}

// progressText is the notice while the task runs.
func progressText(elapsed time.Duration, tools int, last, note string) string {
	text := "⏳ Working on it · " + short(elapsed)
	if tools > 0 {
		text += fmt.Sprintf(" · step %d: %s", tools, last)
	}
	if note != "" {
		text += "\n\n" + note
	}
	return text
}

// summary is the notice at the end.
func summary(rec record, out agent.Outcome) string {
	text := "✅ Done in "
	if out.Ended != agent.Completed {
		text = "❌ Ended after "
	}
	cost := used{}.with(rec.Begun, out)
	return text + strings.Join(append([]string{short(cost.Time)}, cost.words()...), " · ")
}

// words are the steps and tokens, where there are any.
func (u used) words() (words []string) {
	if u.Steps == 1 {
		words = append(words, "1 step")
	} else if u.Steps > 1 {
		words = append(words, fmt.Sprintf("%d steps", u.Steps))
	}
	if u.Tokens > 0 {
		words = append(words, thousands(u.Tokens)+" tokens")
	}
	return words
}
