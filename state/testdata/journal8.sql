CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE "event" (
	seq    INTEGER PRIMARY KEY AUTOINCREMENT,
	room   TEXT NOT NULL,
	event  TEXT NOT NULL,
	sender TEXT NOT NULL,
	type   TEXT NOT NULL,
	time   INTEGER NOT NULL, -- of the event, ms
	raw    TEXT NOT NULL,
	status INTEGER NOT NULL,
	at     INTEGER NOT NULL, home       TEXT NOT NULL DEFAULT '', state_key  TEXT, attempts   INTEGER NOT NULL DEFAULT 0, encryption TEXT NOT NULL DEFAULT 'undecoded', session    TEXT NOT NULL DEFAULT '', distrust   TEXT NOT NULL DEFAULT '', rel_type   TEXT NOT NULL DEFAULT '', relates_to TEXT NOT NULL DEFAULT '', body       TEXT NOT NULL DEFAULT '{}', -- when the row came here, ms
	UNIQUE (room, event)
);
CREATE TABLE task (
	key               TEXT PRIMARY KEY,
	seq               INTEGER NOT NULL, -- of its event
	room              TEXT NOT NULL,
	event             TEXT NOT NULL,
	home              TEXT NOT NULL,    -- room of the event
	thread            TEXT NOT NULL,
	reply_to          TEXT NOT NULL,
	source            TEXT NOT NULL,    -- room, http
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
CREATE INDEX task_at ON task (at);
CREATE TABLE message (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	txn     TEXT NOT NULL UNIQUE,
	room    TEXT NOT NULL,
	kind    TEXT NOT NULL,
	task    TEXT NOT NULL,    -- key, or ''
	number  INTEGER NOT NULL, -- of the question, the notice or the part
	type    TEXT NOT NULL,
	content TEXT NOT NULL,
	about   TEXT NOT NULL,    -- txn of another message, or ''
	event   TEXT NOT NULL,    -- once sent
	status  INTEGER NOT NULL,
	error   TEXT NOT NULL,
	at      INTEGER NOT NULL
);
CREATE INDEX message_unsent ON message (room) WHERE status = 0;
CREATE INDEX message_event ON message (room, event) WHERE event <> '';
CREATE INDEX message_at ON message (at);
CREATE INDEX message_task ON message (task) WHERE status = 0;
CREATE INDEX event_room ON event (room);
CREATE INDEX event_at ON event (at);
CREATE INDEX event_pending ON event (room) WHERE status = 1;
CREATE INDEX event_edit ON event (relates_to) WHERE status = 1 AND rel_type = 'm.replace';
CREATE INDEX event_undecrypted ON event (room) WHERE status = 1 AND encryption IN ('missing key', 'untrusted');
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
CREATE TABLE spending (
	room     TEXT NOT NULL,
	day      INTEGER NOT NULL, -- since 1970, UTC
	requests INTEGER NOT NULL,
	input    INTEGER NOT NULL, -- tokens
	output   INTEGER NOT NULL,
	extra    INTEGER NOT NULL, cached      INTEGER NOT NULL DEFAULT 0, runs        INTEGER NOT NULL DEFAULT 0, sessions    INTEGER NOT NULL DEFAULT 0, compactions INTEGER NOT NULL DEFAULT 0, -- tokens allowed beyond the limit
	PRIMARY KEY (room, day)
) WITHOUT ROWID;
CREATE INDEX spending_day ON spending (day);
CREATE TABLE attempt (
	key   TEXT PRIMARY KEY, -- of a file whose image is scaled down
	count INTEGER NOT NULL, -- attempts that failed or did not end
	at    INTEGER NOT NULL  -- of the last one, ms
);
PRAGMA user_version = 8;
INSERT INTO meta VALUES ('next_batch', 's42'), ('clock', '{}');
INSERT INTO event (seq, room, event, sender, type, time, raw, status, at, encryption, rel_type, relates_to, body) VALUES
	(3, '!a', '$archived', '@alice:x', 'm.room.message', 1700000000123, '', 0, 5, '', '', '', '{"message":{"body":"context"}}'),
	(5, '!a', '$pending', '@alice:x', 'm.room.message', 1700000000124, '', 1, 5, '', 'm.thread', '$archived', '{"message":{"body":"to do"}}'),
	(7, '!a', '$keyless', '@alice:x', 'm.room.encrypted', 1700000000125, '{"a":1}', 1, 6, 'missing key', '', '', '{}'),
	(8, '!b', '$running', '@alice:x', 'm.room.message', 1700000000126, '', 4, 6, '', '', '', '{"message":{"body":"work"}}');
UPDATE sqlite_sequence SET seq = 50 WHERE name = 'event';
INSERT INTO task VALUES ('k', 8, '!b', '$running', '!b', '', '', 'room', '@alice:x', 1700000000126000000, 'x1', 'running', 'work', 0, 0,
	1, 1, 'k-1', 'c1', 's1', 0, '', 0, 1700000000127000000, 0, '', '', '', '', 0, '', '', '', 0, '', 0, '',
	1700000000126000000, 1700000000127000000, '{"used":{"tokens":7}}', 6);
INSERT INTO message (txn, room, kind, task, number, type, content, about, event, status, error, at) VALUES
	('k-n0', '!b', 'notice', 'k', 0, 'm.room.message', '{"body":"on it"}', '', '$sent', 1, '', 6),
	('k-n1', '!b', 'notice', 'k', 1, 'm.room.message', '{"body":"still"}', '', '', 0, '', 7);
INSERT INTO gap VALUES (20, 45, 46, '!a', 'p1', 2, 'never', 0, 0);
INSERT INTO spending VALUES ('!a', 20000, 1, 2, 3, 4, 5, 6, 7, 8);
INSERT INTO attempt VALUES ('image', 1, 5);
