package memory

// schemaVersion is the version of the tables and of the words in them, in user_version. A file of another version is
// deleted, and filled again.
const schemaVersion = 6

const schema = `
CREATE TABLE room (
	id      INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: it is in the words
	name    TEXT NOT NULL UNIQUE,
	filled  INTEGER NOT NULL DEFAULT 0,
	doubts  INTEGER NOT NULL DEFAULT 0, -- how often the record has changed
	chunks  INTEGER NOT NULL DEFAULT 0,
	bytes   INTEGER NOT NULL DEFAULT 0, -- of text
	changed INTEGER NOT NULL DEFAULT 0, -- ns
	model   TEXT NOT NULL DEFAULT ''    -- of its vectors
);

CREATE TABLE document (
	id     INTEGER PRIMARY KEY,
	room   INTEGER NOT NULL,
	source TEXT NOT NULL,
	path   TEXT NOT NULL,
	hash   BLOB NOT NULL, -- of all that it has
	kind   TEXT NOT NULL,
	person TEXT NOT NULL,
	weight REAL NOT NULL,
	origin TEXT NOT NULL, -- what it was made of
	UNIQUE (room, path)
);

CREATE TABLE unit (
	id       INTEGER PRIMARY KEY,
	room     INTEGER NOT NULL,
	document INTEGER NOT NULL,
	time     INTEGER NOT NULL, -- of the first entry, ns, or 0
	session  INTEGER NOT NULL, -- when the conversation began that it is a part of, ns, or 0
	chunks   INTEGER NOT NULL,
	bytes    INTEGER NOT NULL
);
CREATE INDEX unit_document ON unit (document);
CREATE INDEX unit_time ON unit (room, time);

CREATE TABLE chunk (
	id   INTEGER PRIMARY KEY,
	room INTEGER NOT NULL,
	unit INTEGER NOT NULL,
	hash BLOB NOT NULL -- of its text
);
CREATE INDEX chunk_room ON chunk (room);
CREATE INDEX chunk_unit ON chunk (unit);
CREATE INDEX chunk_hash ON chunk (room, hash);

CREATE TABLE entry (
	id      INTEGER PRIMARY KEY,
	chunk   INTEGER NOT NULL,
	first   INTEGER NOT NULL, -- line
	last    INTEGER NOT NULL,
	time    INTEGER NOT NULL,
	speaker TEXT NOT NULL,
	text    TEXT NOT NULL,
	event   TEXT NOT NULL -- the message, or ''
);
CREATE INDEX entry_chunk ON entry (chunk);
CREATE INDEX entry_event ON entry (event) WHERE event <> '';

-- The words of each chunk, each with the number of its room in front, so that a query finds nothing of another room.
CREATE VIRTUAL TABLE words USING fts5 (stems, tokenize = 'ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);

-- The vectors of texts of chunks, a signed byte for each dimension; empty if the model makes none.
CREATE TABLE vector (
	room  INTEGER NOT NULL,
	hash  BLOB NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (room, hash)
) WITHOUT ROWID;

-- The results that a session of the agent has been given.
CREATE TABLE given (
	id      INTEGER PRIMARY KEY,
	room    INTEGER NOT NULL,
	session TEXT NOT NULL,
	key     TEXT NOT NULL,
	UNIQUE (room, session, key)
);

-- All of a room: 16 bytes of hash and 32 of signs for each vector.
CREATE TABLE sketch (
	room  INTEGER PRIMARY KEY,
	signs BLOB NOT NULL
);
`
