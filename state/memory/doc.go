// Package memory is what a room can look up: one index per room over its memory files, transcripts, executions, answers,
// added notes and imported conversations.
//
// # What is stored where
//
// An Index is one SQLite file, STATE_DIR/memory/<hash of the room ID>.db, with mode 0600. It contains, unencrypted like
// everything in STATE_DIR except the device keys, the text that was said in the room, even in an encrypted room:
//
//   - document: one row per file, transcript or import, with the hash of its content,
//   - unit: a part of a document that belongs together: a conversation without a long pause, or a section of a file,
//   - chunk: about 400 tokens of a unit, which is what a search returns,
//   - entry: a message, a paragraph or a list item, with its text, lines and time,
//   - forgotten: hashes of the entries that must not come back, not their text,
//   - words: an FTS5 index over the stems of the chunks. Stop words are not in it.
//
// Most documents can be read again from their files (Put, Sync). Imports and added notes cannot: the index is the only
// place that has them. They survive Rebuild, and damage as far as their pages can be read.
//
// # How a search works
//
// FTS5 finds candidates with BM25; then Go ranks the units. A unit's score is the BM25 of the whole unit and of its best
// passages, times the weight of its source, times a little for what is recent. Dates in a query ("in May", "3 June
// 2026", "yesterday") prefer what was said then. A query is a text: there is no syntax in it.
//
// The package knows nothing about Matrix, podman or where the files of a room are. It never logs, asks no model, and
// writes nothing but the index.
package memory
