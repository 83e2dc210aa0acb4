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
//   - words: an FTS5 index over the stems of the chunks. Stop words are not in it,
//   - vector, embedded and sketch: the embeddings of the newest chunks, if the caller fetches any (Unembedded, Embed).
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
