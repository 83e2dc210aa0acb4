package task

import (
	"fmt"

	"matrix-tui/agent"
	"matrix-tui/bot/crash"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

// event shows a step of the run.
func (w *Work) event(e agent.Event) {
	w.shown.event(w.rec.Run, e)
	switch e.Kind {
	case agent.EventTool:
		w.acted.Store(true)
		w.noteTool(e)
	case agent.EventText:
		w.shown.set("")
	case agent.EventSlow:
		w.shown.set(fmt.Sprintf("the model is slow: nothing has come for %s", text.Duration(e.Quiet)))
	}
	crash.At("streaming")
}

// noteTool puts a tool call into the transcript, unless a former life has.
func (w *Work) noteTool(e agent.Event) {
	if w.noted > 0 {
		w.noted--
		return
	}
	err := w.env.Transcripts.Append(w.env.Container(), state.Line{
		Kind: state.KindTool, Room: w.env.ID, Event: w.rec.Event, Tool: e.Tool, Text: e.Detail})
	if err != nil {
		w.env.Log.Warn().Err(err).Str("room", w.env.ID).Msg("write transcript")
	}
}

// noteOnce puts a line into the transcript, unless a former life has.
func (t *Task) noteOnce(line state.Line) {
	lines, _, err := t.env.Transcripts.Load(t.env.Container())
	for _, old := range lines {
		if old.Kind == line.Kind && old.Event == line.Event {
			return
		}
	}
	if err == nil {
		err = t.env.Transcripts.Append(t.env.Container(), line)
	}
	if err != nil {
		t.env.Log.Warn().Err(err).Str("room", t.env.ID).Msg("write transcript")
	}
}

// countTools counts the tool calls of this task in the transcript.
func (w *Work) countTools() (int, error) {
	lines, _, err := w.env.Transcripts.Load(w.env.Container())
	if err != nil {
		return 0, fmt.Errorf("read transcript: %w", err)
	}
	count := 0
	for _, line := range lines {
		if line.Kind == state.KindTool && line.Event == w.rec.Event {
			count++
		}
	}
	return count, nil
}

// endTranscript writes the answer and the end of the task, once.
func (t *Task) endTranscript() error {
	name := t.env.Container()
	ended, err := t.env.Transcripts.HasEnd(name, t.rec.Event)
	if ended || err != nil {
		return err
	}
	answered := state.Line{Kind: state.KindAssistant, Room: t.env.ID, Event: t.rec.Event, Text: t.rec.Result}
	if err := t.env.Transcripts.Append(name, answered); err != nil {
		return err
	}
	return t.env.Transcripts.End(name, t.rec.Event, string(t.rec.Ended))
}
