package task

import (
	"fmt"

	"matrix-tui/state"
)

// transcript is what one task writes into the transcript of its room.
type transcript struct {
	env   *Env
	event string // the task's
}

func transcriptOf(t *Task) transcript { return transcript{t.env, t.rec.Event} }

// add adds a line. The task goes on where it cannot be written.
func (tr transcript) add(line state.Line) {
	line.Room = tr.env.ID
	if err := tr.env.Transcripts.Append(tr.env.Container(), line); err != nil {
		tr.env.Log.Warn().Err(err).Str("room", tr.env.ID).Msg("write transcript")
	}
}

// once adds what was said in an event, unless a former life has.
func (tr transcript) once(kind, event, text string) {
	lines, _, err := tr.env.Transcripts.Load(tr.env.Container())
	if err != nil {
		tr.env.Log.Warn().Err(err).Str("room", tr.env.ID).Msg("read transcript")
		return
	}
	for _, old := range lines {
		if old.Kind == kind && old.Event == event {
			return
		}
	}
	tr.add(state.Line{Kind: kind, Event: event, Text: text})
}

// tools counts the tool calls of the task.
func (tr transcript) tools() (count int, err error) {
	lines, _, err := tr.env.Transcripts.Load(tr.env.Container())
	if err != nil {
		return 0, fmt.Errorf("read transcript: %w", err)
	}
	for _, line := range lines {
		if line.Kind == state.KindTool && line.Event == tr.event {
			count++
		}
	}
	return count, nil
}

// end writes the result and the end of the task, once.
func (tr transcript) end(result, how string) error {
	name := tr.env.Container()
	ended, err := tr.env.Transcripts.HasEnd(name, tr.event)
	if ended || err != nil {
		return err
	}
	answered := state.Line{Kind: state.KindAssistant, Room: tr.env.ID, Event: tr.event, Text: result}
	if err := tr.env.Transcripts.Append(name, answered); err != nil {
		return err
	}
	return tr.env.Transcripts.End(name, tr.event, how)
}
