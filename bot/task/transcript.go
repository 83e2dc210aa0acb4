package task

import (
	"fmt"

	"matrix-tui/state/transcripts"
)

// transcript writes one task's lines in the room's transcript.
type transcript struct {
	env   *Env
	event string // of the task
}

func transcriptOf(t *Task) transcript { return transcript{t.env, t.rec.Event} }

// add appends a line. The task continues if that fails.
func (tr transcript) add(line transcripts.Line) {
	if err := tr.env.Transcripts.Append(tr.env.ID, line); err != nil {
		tr.env.Log.Warn().Err(err).Str("room", tr.env.ID).Msg("cannot write to the transcript")
	}
}

// once appends the text of an event unless it is there already.
func (tr transcript) once(kind, event, text string) {
	lines, _, err := tr.env.Transcripts.Load(tr.env.ID)
	if err != nil {
		tr.env.Log.Warn().Err(err).Str("room", tr.env.ID).Msg("cannot read the transcript")
		return
	}
	for _, old := range lines {
		if old.Kind == kind && old.Event == event {
			return
		}
	}
	tr.add(transcripts.Line{Kind: kind, Event: event, Text: text})
}

// tools counts the task's tool calls in the transcript.
func (tr transcript) tools() (count int, err error) {
	lines, _, err := tr.env.Transcripts.Load(tr.env.ID)
	if err != nil {
		return 0, fmt.Errorf("read transcript: %w", err)
	}
	for _, line := range lines {
		if line.Kind == transcripts.KindTool && line.Event == tr.event {
			count++
		}
	}
	return count, nil
}

// end appends the result and the end of the task unless they are there already.
func (tr transcript) end(result, how string) error {
	ended, err := tr.env.Transcripts.HasEnd(tr.env.ID, tr.event)
	if ended || err != nil {
		return err
	}
	answered := transcripts.Line{Kind: transcripts.KindAssistant, Event: tr.event, Text: result}
	if err := tr.env.Transcripts.Append(tr.env.ID, answered); err != nil {
		return err
	}
	return tr.env.Transcripts.End(tr.env.ID, tr.event, how)
}
