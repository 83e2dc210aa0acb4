// Package memory is what rooms can look up: an index over what was said and done in them, what they have noted, and
// imported conversations.
//
// The index is one SQLite file for all rooms, STATE_DIR/memory.db, with mode 0600. It is a cache of the record and the
// transcripts; only vectors are nowhere else, and may be lost. A file that is damaged or of another release is deleted,
// and every room says that it is Unfilled until its caller calls Rebuild with what it has. Whoever changes the record
// calls Doubt before and after. Nothing is removed from an index but by Rebuild, or by a new version of a document. The
// text in it is not encrypted, like everything in STATE_DIR except the device keys.
//
// An [Index] is one room's view of the file. It is cheap: Open it for a use, and Close it. Every query has the room in
// its condition, and every word in the index its room's number in front: what one room remembers is never found from
// another. A room has at most MaxText bytes of text and 100,000 chunks; the oldest conversations and tasks make room.
//
// A document is a conversation, a task, a note or an import. It has units, which belong together, such as a
// conversation without a long pause; a unit has chunks of about 400 tokens, which are what a search returns; a chunk
// has entries: messages or lines. Next to them are the stems of the chunks without stop words (FTS5), and vectors with
// their sketches of the newest chunks, if the caller fetches any (Unembedded, Embed).
//
// # How a search works
//
// FTS5 finds candidates with BM25; then Go ranks the units. A unit's score is the BM25 of the whole unit and of its
// best passages, times the weight of its source and document, times a little for what is recent. Dates in a query ("in
// May", "3 June 2026", "yesterday") prefer what was said then. A query is a text: there is no syntax in it.
//
// If the query has a vector, its nearest chunks are candidates too: those with the nearest sketches, a bit for each
// dimension, are compared. Then a chunk's score is 0.7 of its nearness and 0.3 of its text. How often the right note is
// found with and without vectors is what this prints:
//
//	go test ./state/memory -run TestNotesRecall -v
//
//	ranking           shared words  paraphrases  all          (first/among five)
//	lexical           0.950/1.000   0.000/0.000  0.633/0.667
//	merged, scripted  0.900/1.000   0.550/0.700  0.783/0.900
//
// The second row uses the scripted model, whose list of words that mean the same was written for these questions: it
// measures how the two rankings merge, not a real model. With Google's model it has not been measured.
//
// The package knows nothing about Matrix, podman or where the files of a room are. It never logs, asks no model, and
// writes nothing but the index.
package memory
