// Package recall remembers for rooms: it notes what was observed in a task and what people state, and finds it before
// and during the next task.
//
// # What is remembered
//
// The truth is the record (state): notes and imports, tasks, and the transcripts. The index (state/memory), MEMORY.md
// and the daily logs are made from it.
//
//	conversation/…  what was said, one entry for each message
//	execution/…     a task and each call of a tool: Command: … | Outcome: … | Success: … | Duration: …
//	answer/…        a question of the agent with a person's answer: Q: … | A: … | Context: …
//	log/…           the line of a task in its daily log
//	note/…          what people have stated
//
// Nothing is guessed from words. A note comes from `!memory add`, from a line that somebody writes into MEMORY.md, or
// from the agent's tools memory_add and memory_replace (bot/recall/tools), which need a quotation: [Memory.State] takes
// one only if the person of the running task has written it in a message, outside of quotations and code. The task's
// result shows the note, and [Memory.Undo] takes it back.
//
// # Files
//
// [Memory.Sync] writes notes into MEMORY.md and memory/YYYY-MM-DD.md, and reads what people and the agent have changed
// there: a line that is gone is forgotten, a new one is a note. From context.md and status.md it removes what was
// forgotten.
//
// # What is never remembered
//
// Secrets ([Filter.Clean], [AsksForSecret]), approvals ([Approval]), and instructions that somebody planted in a page,
// a file or a message ([Instructs]). That is a list of phrases, not a guarantee: what the agent is given is marked as
// notes, and nothing in it can do more than the agent itself. What was forgotten is kept as a hash, and comes back only
// if a person says it again. Whoever forgets removes the text from the record (see bot/task), and calls [Memory.Doubt]
// before and [Memory.Settle] after that: the index follows the record before its next use, and in the background.
//
// # Embeddings
//
// With [Memory.Embeddings], searches also use vectors of a model, so that they find what is said in other words.
// [Memory.Work] fetches those of new entries in the background; a search waits half a second for that of its query,
// and then uses words alone. What keeps failing is turned off for a growing time. Each request counts as use of the
// room.
//
// Other than that, the package sends nothing, asks no model, and logs no text. A failure costs the memory of a task at
// most, never the task.
package recall
