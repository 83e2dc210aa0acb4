// Package recall keeps what a room has learned: it stores what was observed in a task, and finds it before the next one.
//
// # What is learned
//
// After each task, [Memory.Learn] stores in the room's index (state/memory) what happened, without asking a model:
//
//	conversation/…  what was said, one entry for each message
//	execution/…     the task and each call of a tool: Command: … | Outcome: … | Success: … | Duration: …
//	answer/…        questions of the agent with people's answers: Q: … | A: … | Context: …
//	preference/…    what people said they want, know or decided: preference: … (learned from: …)
//
// [Memory.Sync] writes answers and preferences to /workspace/MEMORY.md, and a line for each task to
// /workspace/memory/YYYY-MM-DD.md, and reads what people and the agent changed there. The index knows a line before the
// file has it, so nothing is lost if the container is away. Before a task, [Memory.Find] returns what fits. During a
// task, the agent looks for more with [Memory.Search] and [Memory.Read], through the tools of bot/recall/tools.
//
// MEMORY.md and the daily logs may take a megabyte together. When they take more, Sync folds the oldest logs, if nobody
// but the bot has written them: MEMORY.md gets a line for the day, and the log is only in the index. A file that has
// reached its share does not grow, and what is new waits in the index.
//
// # What is never learned
//
// Secrets ([Filter.Clean], [AsksForSecret]), approvals ([Approval]), instructions that somebody planted in a page, a
// file or a message ([Instructs]), and what one person says about another as that person's wish ([Preferences]).
// [Instructs] is a list of phrases, not a guarantee: what the agent is given is marked as notes, and nothing in it can
// do more than the agent itself.
//
// # What people change
//
// A message that was edited counts as it is now. A task is learned with the edits of its messages (Task.Edits), and an
// edit that comes later ([Memory.Edit]) changes what the message has left: the note that it no longer implies goes, and
// the history of commands, the logs, and answers have the new text. A message that was deleted leaves nothing
// ([Memory.Redact]). What was forgotten does not come back from a file, a transcript or state.json; it does if a person
// says it again.
//
// # Embeddings
//
// With [Memory.Embeddings], searches also use vectors of a model, so that they find what is said in other words.
// [Memory.Embed] fetches those of new entries in the background; a search waits half a second for that of its query, and
// then uses words alone. What keeps failing is turned off for a growing time. Each request counts as use of the room.
//
// Other than that, the package sends nothing, asks no model, and logs no text. A failure costs the memory of a task at
// most, never the task. While another program keeps an index locked, changes wait in the process; after a restart, tasks
// that the index lacks are learned from state.json.
package recall
