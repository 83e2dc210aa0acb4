package bot

import (
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// event shows a step of the run.
func (t *task) event(e agent.Event) {
	t.shown.event(t.rec.Run, e)
	switch e.Kind {
	case agent.EventTool:
		t.acted.Store(true)
		t.noteTool(e)
	case agent.EventText:
		t.shown.set("")
	case agent.EventSlow:
		t.shown.set(fmt.Sprintf("the model is slow: nothing has come for %s", text.Duration(e.Quiet)))
	}
	crash("streaming")
}

// noteTool puts a tool call into the transcript, unless a former life has.
func (t *task) noteTool(e agent.Event) {
	if t.noted > 0 {
		t.noted--
		return
	}
	err := t.bot.Transcripts.Append(t.boxName(), state.Line{
		Kind: state.KindTool, Room: t.id, Event: t.rec.Event, Tool: e.Tool, Text: e.Detail})
	if err != nil {
		t.bot.log.Warn().Err(err).Str("room", t.id).Msg("write transcript")
	}
}

// noteOnce puts a line into the transcript, unless a former life has.
func (t *task) noteOnce(line state.Line) {
	lines, _, err := t.bot.Transcripts.Load(t.boxName())
	for _, old := range lines {
		if old.Kind == line.Kind && old.Event == line.Event {
			return
		}
	}
	if err == nil {
		err = t.bot.Transcripts.Append(t.boxName(), line)
	}
	if err != nil {
		t.bot.log.Warn().Err(err).Str("room", t.id).Msg("write transcript")
	}
}

// countTools counts the tool calls of this task in the transcript.
func (t *task) countTools() (int, error) {
	lines, _, err := t.bot.Transcripts.Load(t.boxName())
	if err != nil {
		return 0, fmt.Errorf("read transcript: %w", err)
	}
	count := 0
	for _, line := range lines {
		if line.Kind == state.KindTool && line.Event == t.rec.Event {
			count++
		}
	}
	return count, nil
}

// endTranscript writes the answer and the end of the task, once.
func (t *task) endTranscript() error {
	name := t.boxName()
	ended, err := t.bot.Transcripts.HasEnd(name, t.rec.Event)
	if ended || err != nil {
		return err
	}
	answered := state.Line{Kind: state.KindAssistant, Room: t.id, Event: t.rec.Event, Text: t.rec.Result}
	if err := t.bot.Transcripts.Append(name, answered); err != nil {
		return err
	}
	return t.bot.Transcripts.End(name, t.rec.Event, string(t.rec.Ended))
}
