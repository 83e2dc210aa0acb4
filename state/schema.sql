-- The tables of journal.db. A change of anything here needs a new schemaVersion.

CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE event (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT,
	room       TEXT NOT NULL,
	event      TEXT NOT NULL,
	home       TEXT NOT NULL DEFAULT '', -- the room that it was sent to, where that is another one
	sender     TEXT NOT NULL,
	type       TEXT NOT NULL,
	state_key  TEXT,
	time       INTEGER NOT NULL,           -- of the event, ms
	status     INTEGER NOT NULL,
	kind       TEXT NOT NULL DEFAULT '',   -- see event.Kind
	addressee  TEXT NOT NULL DEFAULT '',   -- see event.Addressee
	attempts   INTEGER NOT NULL DEFAULT 0, -- that ended in a panic
	encryption TEXT NOT NULL DEFAULT '',
	session    TEXT NOT NULL DEFAULT '',
	distrust   TEXT NOT NULL DEFAULT '',
	rel_type   TEXT NOT NULL DEFAULT '',
	relates_to TEXT NOT NULL DEFAULT '',
	body       TEXT NOT NULL DEFAULT '{}', -- JSON, see event.Body
	raw        TEXT NOT NULL,              -- of an event that is not decrypted
	at         INTEGER NOT NULL,           -- when the row came here, ms
	UNIQUE (room, event)
);
CREATE INDEX event_room ON event (room);
CREATE INDEX event_at ON event (at);
CREATE INDEX event_pending ON event (room) WHERE status = 1;
CREATE INDEX event_undecrypted ON event (room) WHERE status = 1 AND encryption IN ('missing key', 'untrusted');
CREATE INDEX event_edits ON event (room, relates_to) WHERE rel_type = 'm.replace';

CREATE TABLE gap (
	low       INTEGER PRIMARY KEY, -- first seq of the range that is reserved for its events
	next      INTEGER NOT NULL,    -- seq of its next event; it is filled backwards
	hides     INTEGER NOT NULL,    -- events of the room from this seq on wait until it is closed
	room      TEXT NOT NULL,
	token     TEXT NOT NULL,       -- of the next page
	pages     INTEGER NOT NULL,    -- that are stored
	encrypted TEXT NOT NULL,       -- see Encrypted
	since     INTEGER NOT NULL,    -- older events are context only, ms; 0: none
	unsent    INTEGER NOT NULL     -- the newest message that its events may show to be sent, or 0
);
CREATE INDEX gap_room ON gap (room);

CREATE TABLE task (
	key               TEXT PRIMARY KEY,
	seq               INTEGER NOT NULL, -- of its event
	room              TEXT NOT NULL,
	event             TEXT NOT NULL,
	home              TEXT NOT NULL,    -- room of the event
	thread            TEXT NOT NULL,
	reply_to          TEXT NOT NULL,
	source            TEXT NOT NULL,    -- room, http, schedule
	requester         TEXT NOT NULL,
	time              INTEGER NOT NULL, -- of the event, ns, as all times here
	execution         TEXT NOT NULL UNIQUE,
	state             TEXT NOT NULL,    -- queued, running, waiting, answered, done
	text              TEXT NOT NULL,
	edited            INTEGER NOT NULL,
	has_file          INTEGER NOT NULL,
	attempt           INTEGER NOT NULL,
	tries             INTEGER NOT NULL,
	run               TEXT NOT NULL,
	container         TEXT NOT NULL,
	session           TEXT NOT NULL,
	resume            INTEGER NOT NULL,
	base_session      TEXT NOT NULL,
	interrupted       INTEGER NOT NULL,
	begun             INTEGER NOT NULL,
	deadline          INTEGER NOT NULL,
	question          TEXT NOT NULL,
	question_context  TEXT NOT NULL,
	question_room     TEXT NOT NULL,
	question_event    TEXT NOT NULL,
	question_deadline INTEGER NOT NULL,
	held_command      TEXT NOT NULL,
	held_dir          TEXT NOT NULL,
	stop_by           TEXT NOT NULL,
	withdrawn         INTEGER NOT NULL,
	ended             TEXT NOT NULL,
	resumable         INTEGER NOT NULL,
	error             TEXT NOT NULL,
	created           INTEGER NOT NULL,
	updated           INTEGER NOT NULL,
	details           TEXT NOT NULL,    -- JSON, see Details
	at                INTEGER NOT NULL, -- when the row came here, ms
	UNIQUE (room, event)
);
CREATE INDEX task_open ON task (room, seq) WHERE state IN ('queued', 'running', 'answered');
CREATE INDEX task_waiting ON task (room, seq) WHERE state = 'waiting';
CREATE INDEX task_begun ON task (room, seq) WHERE state <> 'queued';
CREATE INDEX task_home ON task (home, event) WHERE state <> 'done';
CREATE INDEX task_thread ON task (room, thread) WHERE thread <> '';
CREATE INDEX task_at ON task (at);

CREATE TABLE message (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	txn      TEXT NOT NULL UNIQUE,
	room     TEXT NOT NULL,
	kind     TEXT NOT NULL,
	task     TEXT NOT NULL,              -- key, or ''
	number   INTEGER NOT NULL,           -- of the question, the notice or the part
	relation TEXT NOT NULL DEFAULT '',   -- reply, thread, edit, reaction, redaction
	target   TEXT NOT NULL DEFAULT '',   -- the event that it relates to, or
	about    TEXT NOT NULL,              -- txn of another message, which becomes that event
	thread   TEXT NOT NULL DEFAULT '',   -- root
	notice   INTEGER NOT NULL DEFAULT 0, -- notifies nobody
	body     TEXT NOT NULL DEFAULT '',   -- Markdown; the name of a file; the key of a reaction
	details  TEXT NOT NULL DEFAULT '',   -- Markdown behind a click
	small    TEXT NOT NULL DEFAULT '',   -- a last line
	mentions TEXT NOT NULL DEFAULT '',   -- user IDs, separated by spaces
	file     TEXT NOT NULL DEFAULT '',   -- JSON, see event.FileInfo
	event    TEXT NOT NULL,              -- once sent
	status   INTEGER NOT NULL,
	error    TEXT NOT NULL,
	at       INTEGER NOT NULL
);
CREATE INDEX message_unsent ON message (room) WHERE status = 0;
CREATE INDEX message_event ON message (room, event) WHERE event <> '';
CREATE INDEX message_task ON message (task) WHERE status = 0;
CREATE INDEX message_at ON message (at);

CREATE TABLE spending (
	room        TEXT NOT NULL,
	day         INTEGER NOT NULL,           -- since 1970, UTC
	requests    INTEGER NOT NULL,
	input       INTEGER NOT NULL,           -- tokens
	cached      INTEGER NOT NULL DEFAULT 0, -- the part of input that the model had cached
	output      INTEGER NOT NULL,
	extra       INTEGER NOT NULL,           -- tokens allowed beyond the limit
	runs        INTEGER NOT NULL DEFAULT 0, -- of the agent
	sessions    INTEGER NOT NULL DEFAULT 0, -- that these runs started
	compactions INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (room, day)
) WITHOUT ROWID;
CREATE INDEX spending_day ON spending (day);

CREATE TABLE attempt (
	key   TEXT PRIMARY KEY, -- of a file whose image is scaled down
	count INTEGER NOT NULL, -- attempts that failed or did not end
	at    INTEGER NOT NULL  -- of the last one, ms
);

-- What is known of a room. Lists are JSON: see Turn.
CREATE TABLE room (
	room       TEXT PRIMARY KEY,
	container  TEXT NOT NULL, -- its name, or ''
	session    TEXT NOT NULL, -- of the agent, or ''
	reset      TEXT NOT NULL, -- stands for the last end of its session
	volumes    TEXT NOT NULL, -- the room whose volumes it uses, or ''
	successor  TEXT NOT NULL, -- the room that replaced it, or ''
	packages   TEXT NOT NULL,
	history    TEXT NOT NULL
);

-- What rooms remember.
CREATE TABLE note (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT,
	id         TEXT NOT NULL,
	room       TEXT NOT NULL,
	scope      TEXT NOT NULL,    -- a person's name, or '' for everybody in the room
	kind       TEXT NOT NULL,
	text       TEXT NOT NULL,
	quote      TEXT NOT NULL,    -- the words that say it
	event      TEXT NOT NULL,    -- the message that says it, or ''
	task       TEXT NOT NULL,    -- key of the task whose result shows it, or ''
	by         TEXT NOT NULL,    -- a person's name, or ''
	time       INTEGER NOT NULL, -- ns
	salience   REAL NOT NULL,
	source     TEXT NOT NULL,
	replaces   TEXT NOT NULL,    -- the text of the note that it has replaced, or ''
	file       TEXT NOT NULL,    -- that shows it, in /workspace
	written    INTEGER NOT NULL, -- the file has it
	UNIQUE (room, id)
);
CREATE INDEX note_task ON note (task) WHERE task <> '';

CREATE TABLE import (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	room    TEXT NOT NULL,
	origin  TEXT NOT NULL,    -- the file
	line    INTEGER NOT NULL,
	time    INTEGER NOT NULL, -- ns
	speaker TEXT NOT NULL,
	text    TEXT NOT NULL
);
CREATE INDEX import_room ON import (room, origin);

CREATE TABLE entry (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	room     TEXT NOT NULL,
	number   INTEGER NOT NULL, -- in the room
	text     TEXT NOT NULL,    -- the task
	at_times TEXT NOT NULL,    -- JSON, see When
	missed   TEXT NOT NULL,    -- once, skip, all
	gate     TEXT NOT NULL,    -- a shell command, or ''
	creator  TEXT NOT NULL,    -- user ID
	events   TEXT NOT NULL,    -- the messages that its texts are from
	created  INTEGER NOT NULL, -- ns
	zone     TEXT NOT NULL,    -- in which next was computed
	next     INTEGER NOT NULL, -- when it is due, ns; 0: never again
	paused   TEXT NOT NULL,    -- why, or ''
	failures INTEGER NOT NULL, -- of its newest runs, in a row
	UNIQUE (room, number)
);
CREATE INDEX entry_zone ON entry (room, zone);
CREATE INDEX entry_next ON entry (next) WHERE next > 0 AND paused = '';

CREATE TABLE forgotten (
	seq  INTEGER PRIMARY KEY AUTOINCREMENT,
	room TEXT NOT NULL,
	hash TEXT NOT NULL,
	time INTEGER NOT NULL, -- ns
	UNIQUE (room, hash)
);
