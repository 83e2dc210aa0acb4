package memory

// schemaVersion is the version of the tables and of the words in the index, in user_version. An index of another version
// is built again; what only it has is kept.
const schemaVersion = 2

const schema = `
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE document (
	id     INTEGER PRIMARY KEY,
	source TEXT NOT NULL,
	path   TEXT NOT NULL,
	origin TEXT NOT NULL, -- of an import: the file that it was read from; of a note: its kind; of a task: task
	hash   BLOB NOT NULL,
	weight REAL NOT NULL,
	time   INTEGER NOT NULL, -- when it was indexed, ns
	UNIQUE (source, path)
);

CREATE TABLE unit (
	id       INTEGER PRIMARY KEY,
	document INTEGER NOT NULL,
	hash     BLOB NOT NULL,
	time     INTEGER NOT NULL, -- of the first entry, ns, or 0
	until    INTEGER NOT NULL, -- of the last
	session  INTEGER NOT NULL  -- when the conversation began that it is a part of, ns, or 0
);
CREATE INDEX unit_document ON unit (document);
CREATE INDEX unit_time ON unit (time);

CREATE TABLE chunk (
	id   INTEGER PRIMARY KEY,
	unit INTEGER NOT NULL,
	key  BLOB NOT NULL
);
CREATE INDEX chunk_unit ON chunk (unit);
CREATE INDEX chunk_key ON chunk (key);

CREATE TABLE entry (
	id       INTEGER PRIMARY KEY,
	chunk    INTEGER NOT NULL,
	document INTEGER NOT NULL, -- so that a salvage needs neither chunk nor unit
	first    INTEGER NOT NULL, -- line
	last     INTEGER NOT NULL,
	time     INTEGER NOT NULL,
	speaker  TEXT NOT NULL,
	text     TEXT NOT NULL,
	event    TEXT NOT NULL -- the message, or ''
);
CREATE INDEX entry_event ON entry (event) WHERE event <> '';
CREATE INDEX entry_chunk ON entry (chunk);
CREATE INDEX entry_document ON entry (document, first);

CREATE TABLE forgotten (
	hash BLOB PRIMARY KEY,
	time INTEGER NOT NULL
) WITHOUT ROWID;

-- What goes to the files in the workspace: state 0 is to be written, 1 is written, 2 is to be removed.
CREATE TABLE line (
	id      INTEGER PRIMARY KEY,
	event   TEXT NOT NULL, -- the message that it comes from
	path    TEXT NOT NULL,
	section TEXT NOT NULL,
	text    TEXT NOT NULL,
	state   INTEGER NOT NULL,
	UNIQUE (path, text)
);
CREATE INDEX line_state ON line (state) WHERE state <> 1;
CREATE INDEX line_event ON line (event);

-- The results that a session of the agent has been given.
CREATE TABLE given (
	id      INTEGER PRIMARY KEY,
	session TEXT NOT NULL,
	key     TEXT NOT NULL,
	UNIQUE (session, key)
);

CREATE VIRTUAL TABLE words USING fts5 (stems, content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
`
