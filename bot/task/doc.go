// Package task contains the life of one task, from claimed to finished. [Work.Do] in
// task.go shows that life from top to bottom; the other files contain its steps.
//
//	state      what happens next                  what is stored               after a crash
//	claimed    waits for a slot, unless its run   the task (queued)            starts again
//	           outlived the bot; the room gets
//	           a notice
//	container  starts the container, copies       copied files, once the run   starts again; does not copy
//	           files, runs an approved command,   is claimed                   the same files twice
//	           claims the run
//	running    the agent runs; the notice shows   run, container, session      finds the run in its container
//	           its steps                          (running)                    and reads its output from the
//	                                                                           start; if the container went
//	                                                                           down, runs again in the same
//	                                                                           session
//	waiting    the worker is free; [Env.Look]     question and its messages    waits until the same deadline
//	           sends the reminder and enforces    (waiting)
//	           the deadline
//	answered   [Env.Resume] plans the next run;   answer and next run          as running, without a
//	           back to claimed                    (running)                    container
//	result     writes transcript and history,     result and its messages      settles again; every step may
//	           sends files                        (answered)                   be repeated
//	finished   nothing                            done                         nothing
//
// Each transition is one transaction of [state.Journal] that includes its messages, so a
// message is sent exactly once, and never for a state that was not reached. Before the
// result, a task may be stopped or get a new message, with which it runs again in the
// same session; see [Work.Stop]. execution.Execution is the state machine, and what the HTTP
// API shows of a task.
//
// A compaction (!compact) is a task, too: it asks the agent for a summary of the room's session, and its result is a
// notice. Summary and notice are stored with the result; then one write to the journal puts the summary in place of the
// older history, and ends the session. See compaction. Before its first run, a task ends a session that is stale.
//
// [Task] is the record with its execution, and [Work] a task that a worker is processing.
// Each step is a type that changes a Task: attempt is one try in the container,
// [Question] is asked and waited for, ending is the outcome and its messages, settlement
// is what follows the result. [Voice] creates the messages of all steps.
//
// A task knows its room through [Room] and nothing about Matrix: it writes Markdown, and
// the room turns it into events. The package never sends anything itself, never decides
// who may do what, and never logs text of a person or of the agent.
package task
