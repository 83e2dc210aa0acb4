package task

import (
	"context"
	"slices"
	"strings"

	"matrix-tui/agent"
	"matrix-tui/bot/container"
	"matrix-tui/state"
	"matrix-tui/workspace"
)

// agentTask returns what the agent needs for this attempt.
func (a *attempt) agentTask(ctx context.Context, attached bool) (job agent.Task, err error) {
	t, rec, env := a.task, &a.task.rec, a.task.env
	text, later := spoken(t)
	in := workspace.Input{
		Task: text, Asker: env.NameOf(rec.Asker()), Lost: rec.Lost, Persona: a.who, Quote: a.quoted,
		Interrupted: rec.Interrupted, Paused: rec.Due.Begun, Overflow: rec.Overflow && !rec.Resume,
		Refused:     rec.Refused && !rec.Resume,
		Instruction: agent.Instruction, Answers: exchanges(t), Resumed: rec.Resume && len(t.exec.Answers)+len(later) > 0,
	}
	if rec.Source == state.FromSchedule {
		in.Scheduled = scheduledText(rec.Scheduled, "", env.rules().Zone)
	}
	for _, one := range later {
		in.Steer = append(in.Steer, workspace.Message{Sender: env.NameOf(one.By), Text: WordsOf(one)})
	}
	in.Files = promptFiles(t, in.Resumed)
	history, err := env.Store.Conversations.History(ctx, env.ID)
	if err != nil {
		return job, err
	}
	if !rec.Resume {
		for _, turn := range history {
			in.History = append(in.History, workspace.Turn{Role: turn.Role, Content: turn.Content})
		}
	} else if last := len(history) - 1; last >= 0 && fromBot(history[last].Content) {
		in.Ended = history[last].Content
	}
	in.Memory = workspace.Memory{Commands: a.known.Commands, Preferences: a.known.Preferences, Answers: a.known.Answers,
		Retrieved: a.known.Retrieved}
	in.Running = a.running
	rules := env.rules()
	var settled []string
	if !attached {
		settled = env.Settled()
	}
	job = agent.Task{
		Run: rec.Run, Session: rec.Session, Resume: rec.Resume, Model: rec.Model, Zone: rules.Zone, Deadline: rec.Deadline,
		Forget: settled, Attached: attached, Stop: a.stop.now.Done(), Approvals: rules.Approvals,
	}
	if !attached { // otherwise the setting may have changed since
		job.Limit = rules.Timeout
	}
	if rec.Compact {
		job.Prompt = workspace.SummaryPrompt(in.Asker, compaction{t}.keep(), in.History)
		return job, nil
	}
	job.Prompt, job.Files, job.Watch = workspace.Prompt(in), container.Files(text),
		[]string{workspace.StatusPath, workspace.OutboxPath}
	return job, nil
}

// exchanges returns the questions and answers for the prompt.
func exchanges(t *Task) []workspace.Answered {
	var out []workspace.Answered
	for i, a := range t.exec.Answers {
		text := a.Answer
		if i == len(t.exec.Answers)-1 && t.Question().IsHeld() {
			text = verdictOn(a, t.rec.Approved)
		}
		for _, f := range t.rec.Files {
			if expected := answerPath(text); expected != "" && f.Event == a.Event && f.Path != "" {
				text = strings.TrimSuffix(text, expected) + f.Path
			}
		}
		out = append(out, workspace.Answered{Question: a.Question, Answer: text, By: t.env.NameOf(a.By)})
	}
	return out
}

// spoken returns the task's text with the messages that joined it, and the later
// messages that the agent's session does not contain yet.
func spoken(t *Task) (text string, later []state.Said) {
	text = t.text
	for i, one := range t.rec.Said {
		switch {
		case one.Joined && (t.rec.Told == 0 || !t.rec.Resume):
			if one.Text != "" {
				text += "\n" + one.Text
			}
		case i >= t.rec.Told || !t.rec.Resume:
			later = append(later, one)
		}
	}
	return text, later
}

// WordsOf returns the text of a message, or FileCame for a file without a caption.
func WordsOf(s state.Said) string {
	if s.File && s.Text == "" {
		return FileCame
	}
	return s.Text
}

// NameOf returns the name by which the agent, the memory and the room know a person: "alice" for "@alice:example.org"
// on the bot's own server, "alice:example.org" on another, because two people may have the same local part.
func (d *Deps) NameOf(user string) string {
	local, server, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	if d == nil || d.Server == "" || server == "" || server == d.Server {
		return local
	}
	return local + ":" + server
}

const (
	// maxCaption bounds the caption of a file in the record, in bytes.
	maxCaption = 1000
	// FileCame is the text of a file without a caption.
	FileCame = "A file came."
)

// promptFiles returns the files that the prompt mentions; with resumed, only those that
// the session does not know.
func promptFiles(t *Task, resumed bool) []workspace.File {
	fresh := map[string]bool{}
	answers := t.exec.Answers
	if len(answers) > 0 {
		fresh[answers[len(answers)-1].Event] = true
	}
	for i, said := range t.rec.Said {
		fresh[said.Event] = fresh[said.Event] || i >= t.rec.Told
	}
	fresh[t.rec.Event] = len(answers) == 0 && t.rec.Told == 0
	if t.rec.ReplyTo != "" {
		fresh[t.rec.ReplyTo] = fresh[t.rec.Event]
	}
	edited := func(event string) bool { // then the prompt already contains its current text
		return event == t.rec.Event && t.rec.Edited ||
			slices.ContainsFunc(t.rec.Said, func(s state.Said) bool { return s.Event == event && s.Edited })
	}
	var files []workspace.File
	for _, f := range t.rec.Files {
		if resumed && !fresh[f.Event] {
			continue
		}
		if edited(f.Event) {
			f.Caption = ""
		}
		files = append(files, workspace.File{
			Path: f.Path, Type: f.Type, Name: f.Name, Size: f.Size, Caption: f.Caption, Voice: f.Voice, Missing: f.Missing,
		})
	}
	return files
}
