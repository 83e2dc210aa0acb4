package progress

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"matrix-tui/state/retry"
)

const (
	editEvery  = 2 * time.Second  // minimum time between edits of the notice
	idleEvery  = 10 * time.Second // if only the elapsed time has changed
	lateEvery  = 30 * time.Second // the same, after the first minute
	draftEvery = 5 * time.Second  // if only the answer has become longer, after freeDrafts edits: homeservers limit them
	freeDrafts = 5
	typingTime = 30 * time.Second // the typing indicator is renewed before this
	// noticeAfter is when the notice is sent: a task that ends before has none. lookEvery is how often that is checked.
	noticeAfter, lookEvery = 2500 * time.Millisecond, 500 * time.Millisecond
	// typingPause is how long the typing indicator is off before it is shown again.
	typingPause = 300 * time.Millisecond
)

// maxPanics is how often showing the progress of a task may end in a panic before the notice is left alone. The agent
// chooses what is shown, and must not be able to end the process with it.
const maxPanics = 2

func (p *Notice) run() {
	defer close(p.done)
	for range maxPanics {
		if !p.show() {
			return
		}
	}
}

// show sends the notice when it is due and keeps it up to date until the task ends.
func (p *Notice) show() (panicked bool) {
	defer func() {
		if recover() != nil {
			panicked = true
			p.log.Error().Str("room", p.room).Bytes("stack", debug.Stack()).Msg("panic while showing progress")
		}
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	if p.posted {
		tick.Reset(editEvery)
	}
	typed := p.showTyping(time.Time{}, false)
	hidden := p.hidden
	for edited, shown := time.Now(), ""; ; {
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			p.sayRestarting()
			return false
		}
		typed, hidden = p.showTyping(typed, hidden), false
		text, due := p.text(), time.Since(p.since) >= noticeAfter
		if p.posted {
			text, due = p.due(edited, shown)
		}
		if !due {
			continue
		}
		if p.put(text) {
			edited, shown, hidden = time.Now(), text, true
		} else {
			p.again()
		}
		tick.Reset(editEvery) // also after a slow edit
	}
}

// showTyping renews the typing indicator before it expires, unless the task is queued. If clients have hidden it, it is
// turned off first, because they show it only when it changes.
func (p *Notice) showTyping(last time.Time, hidden bool) time.Time {
	if p.Now().Queued != "" || !hidden && time.Since(last) < typingTime*2/3 {
		return last
	}
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	var err error
	if hidden {
		err = errors.Join(p.place.Type(ctx, 0), retry.Sleep(ctx, typingPause))
	}
	if err = errors.Join(err, p.place.Type(ctx, typingTime)); err != nil {
		p.log.Debug().Err(err).Str("room", p.room).Msg("cannot show the typing indicator")
	}
	return time.Now()
}

// due returns the notice's text and whether it is time to show it; shown is the text at the time of the last edit.
func (p *Notice) due(edited time.Time, shown string) (string, bool) {
	every := idleEvery
	if time.Since(p.since) > time.Minute {
		every = lateEvery
	}
	p.mu.Lock()
	due := p.changed || p.waits == "" && time.Since(edited) >= every
	if p.said && !due && (p.drafts < freeDrafts || time.Since(edited) >= draftEvery) {
		due = true
		p.drafts++
	}
	if due {
		p.changed, p.said = false, false
	}
	p.mu.Unlock()
	if !due {
		return "", false
	}
	text := p.text()
	return text, text != shown
}

// text returns what the notice says now.
func (p *Notice) text() string {
	p.mu.Lock()
	steps, note, waits := p.steps.Clone(), p.note, p.waits
	p.mu.Unlock()
	if waits != "" {
		return queuedText(waits)
	}
	return steps.Progress(time.Since(p.since), note, p.place.Fits)
}

// again makes the next tick edit the notice, which is not in the room yet.
func (p *Notice) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = true
}

// post queues the notice and, if the task runs, the reaction before it.
func (p *Notice) post(ctx context.Context, text string) error {
	err := p.place.Post(ctx, text, p.Now().Queued == "")
	p.posted = p.posted || err == nil
	return err
}

// put shows a text in the notice, and returns false if that has to be tried again.
func (p *Notice) put(text string) bool {
	if p.posted {
		return p.edit(p.ctx, text)
	}
	err := p.post(p.ctx, text)
	if err != nil {
		p.log.Warn().Err(err).Str("room", p.room).Msg("cannot store the progress notice")
	}
	return err == nil
}

// edit changes the notice and returns false if it is not in the room yet.
func (p *Notice) edit(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return p.place.Edit(ctx, text)
}

// sayRestarting announces a restart in the notice if the bot is stopping.
func (p *Notice) sayRestarting() {
	if p.life.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 5*time.Second)
	defer cancel()
	p.edit(ctx, "🔄 Restarting. The task keeps running, and I will be back in a moment.")
}
