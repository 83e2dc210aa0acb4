// Package task is the life of one task, from claimed to finished. [Work.Do] in
// task.go is that life from top to bottom; the other files are its steps.
//
//	state      what happens next                 what is durable               after a crash
//	claimed    a slot; the room sees a notice    the task: queued              starts again
//	container  it is made or started, files are  files that are in it, once    starts again; files that are
//	           brought, a command that was       the run is claimed            there are not brought again
//	           allowed is run, the run is
//	           claimed
//	running    the agent runs; its steps are     run, container, session:      the run is found in its
//	           shown                             running                       container and read again from
//	                                                                           its start; where the container
//	                                                                           went down, it is run again
//	                                                                           with the same session
//	waiting    the worker is free; [Env.Look]    question and its messages:    goes on waiting, with the
//	           reminds, and ends it in time      waiting                       same deadline
//	answered   [Env.Resume] plans the next run;  the answer, the next run:     as running, without a
//	           claimed again                     running                       container
//	result     settlement: transcript and        result and its messages:      settles again; each step may
//	           state.json, files are sent        answered                      be repeated
//	finished   nothing                           done                          nothing
//
// Each change of state is one transaction of [state.Journal] that also stores the
// messages that tell it: a message is sent exactly once, and never for a state that
// was not reached. In any state before the result a task may be stopped, or told
// something new (it then runs again with the same session); see [Work.Stop].
// agent.Execution is the state machine that the HTTP API shows; state.json is
// brought up to it after the journal, and is never read to go on.
//
// [Task] is the record with its execution, and [Work] a task in the hands of a
// worker. The steps are types of their own, each around the Task that it moves on:
// attempt is one try in the container, [Question] is asked and waited for, ending is
// the outcome and what is told of it, settlement is what the task leaves behind.
// [Voice] makes the messages of them all.
//
// A task knows its room through [Room] and nothing about Matrix: it says what a
// message is about, in Markdown, and the room makes an event of it. It never sends
// anything itself, never decides who may do what, and never logs the words of a
// person or of the agent.
package task
