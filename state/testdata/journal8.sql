BEGIN;
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
INSERT INTO meta VALUES('next_batch','s42');
INSERT INTO event VALUES(1,'!den:here','$context','@ann:here','m.room.message',1772600827890,'',0,1795346824202,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"good morning"}}');
INSERT INTO event VALUES(2,'!den:here','$done','@ann:here','m.room.message',1772600887890,'',4,1795346824209,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"write it down"}}');
INSERT INTO event VALUES(3,'!den:here','$running','@ann:here','m.room.message',1772600947890,'',4,1795346824262,'',NULL,0,'','','','m.thread','$root','{"message":{"msgtype":"m.text","body":"build it","relates_to":{"rel_type":"m.thread","event_id":"$root","fallback":true,"in_reply_to":"$root"}}}');
INSERT INTO event VALUES(4,'!den:here','$steer','@ann:here','m.room.message',1772601007890,'',4,1795346824265,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"!steer only half"}}');
INSERT INTO event VALUES(5,'!den:here','$waiting','@ann:here','m.room.message',1772601067890,'',4,1795346824266,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"paint the shed","relates_to":{"in_reply_to":"$context"}}}');
INSERT INTO event VALUES(6,'!den:here','$yes','@ann:here','m.room.message',1772601127890,'',4,1795346824342,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"yes"}}');
INSERT INTO event VALUES(7,'!den:here','$held','@ann:here','m.room.message',1772601187890,'',4,1795346824373,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"deploy"}}');
INSERT INTO event VALUES(8,'!den:here','$again','@ann:here','m.room.message',1772601247890,'',4,1795346824376,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"paint the door"}}');
INSERT INTO event VALUES(9,'!den:here','$black','@ann:here','m.room.message',1772601307890,'',4,1795346824381,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"black"}}');
INSERT INTO event VALUES(10,'!den:here','$queued','@ann:here','m.room.message',1772601367890,'',1,1795346824382,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"what time is it?"}}');
INSERT INTO event VALUES(11,'!den:here','$io.matrix-tui.execute-00000000-0000-4000-8000-000000000001','@bot:here','io.matrix-tui.execute',1772601367890,'',4,1795346824383,'',NULL,0,'','','','','','{}');
INSERT INTO event VALUES(12,'!den:here','$changed','@ann:here','m.room.message',1772601427890,'',4,1795346824404,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"one thing"}}');
INSERT INTO event VALUES(13,'!den:here','$back','@ann:here','m.room.message',1772601487890,'',4,1795346824410,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"never mind"}}');
INSERT INTO event VALUES(14,'!den:here','$file','@ann:here','m.room.message',1772601547890,'',1,1795346824417,'',NULL,0,'','','','','','{"message":{"msgtype":"m.image","body":"cat.png","file":{"url":"mxc://here/cat"}}}');
INSERT INTO event VALUES(15,'!den:here','$stop','@ann:here','m.room.message',1772601607890,'',1,1795346824417,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"!stop"}}');
INSERT INTO event VALUES(16,'!den:here','$answered','@ann:here','m.room.message',1772601667890,'',4,1795346824417,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"sum it up"}}');
INSERT INTO event VALUES(17,'!attic:here','$help','@ann:here','m.room.message',1772601727890,'',4,1795346824422,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"!help"}}');
INSERT INTO event VALUES(18,'!old:here','$moved','@ann:here','m.room.message',1772601787890,'',0,1795346824423,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"back up the database"}}');
INSERT INTO event VALUES(19,'!attic:here','$moved','@ann:here','m.room.message',1772601787890,'',4,1795346824423,'',NULL,0,'','','','','','{"message":{"msgtype":"m.text","body":"back up the database"}}');
INSERT INTO gap VALUES(30,45,46,'!attic:here','p1',2,'never',0,0);
INSERT INTO task VALUES('d04922ce878ee72698a7',2,'!den:here','$done','!den:here','','','room','@ann:here',1772600887890000000,'1648befa-9372-5b51-b7ae-8a1a1575dcd9','done','write it down',0,0,1,1,'d04922ce878ee72698a7-1','container-1','session-1',0,'',0,1772600887890000000,1795350424214336058,'','','','',0,'','','',0,'completed',1,'',1795346824214236730,1795346824258686181,'{"result":"Written **down**.","status_line":"\n[2026-11-22 11:27] Task: write it down\n[2026-11-22 11:27] Written **down**.\n"}',1795346824209);
INSERT INTO task VALUES('16b450a576f880697ac4',3,'!den:here','$running','!den:here','$root','','room','@ann:here',1772600947890000000,'7a0d8f18-8579-5914-b663-20a0f483e033','running','build it',0,0,1,1,'16b450a576f880697ac4-1','container-1','e372fbf6-b826-4af5-ae1a-beb610e5844b',0,'',0,1772600947890000000,1795350424262950949,'','','','',0,'','','',0,'',0,'',1795346824262866403,1795346824262950698,'{"said":[{"by":"@ann:here","text":"only half","event":"$steer","at":"2026-03-04T05:10:07.89Z"}]}',1795346824262);
INSERT INTO task VALUES('346c6f11f4378fcfbc2e',5,'!den:here','$waiting','!den:here','','$context','room','@ann:here',1772601067890000000,'3e0a2b14-a4fd-50d7-9b6e-3b8a3d3e6c91','waiting','paint the shed',0,0,2,1,'346c6f11f4378fcfbc2e-2','','e694a265-94be-4f4a-b977-17768111efae',1,'',0,0,1795350424343587105,'Which colour?
1. red
2. green','','!den:here','$question-1',1772602927890000000,'','','',0,'',1,'',1795346824266989479,1772601127890000000,'{"answers":[{"question":"May I?","answer":"yes","by":"@ann:here","event":"$yes"}],"used":{"time":3000000000,"steps":2,"tokens":1234}}',1795346824266);
INSERT INTO task VALUES('beb08462308d34db5c11',7,'!den:here','$held','!den:here','','','room','@ann:here',1772601187890000000,'4ea2b394-52e3-5e60-b183-700c344d566f','waiting','deploy',0,0,1,1,'beb08462308d34db5c11-1','container-1','809263e5-39d6-49b9-a58c-a85e3071a456',0,'',0,1772601187890000000,1795350424374404614,'May I run this command in `/workspace`?

```
make deploy
```','ann''s task needs it','!den:here','',1772602987890000000,'make deploy','/workspace','',0,'',0,'',1795346824374331285,1772601187890000000,'{}',1795346824373);
INSERT INTO task VALUES('e7359257a5a76ae92677',8,'!den:here','$again','!den:here','','','room','@ann:here',1772601247890000000,'14167f3c-e1a2-5b29-92a8-e0da1c243be8','running','paint the door',0,0,2,1,'e7359257a5a76ae92677-2','','162f550c-fe5d-4ac3-87f3-e0c7fc33891b',1,'',0,0,1795350424382303089,'','','','',0,'','','',0,'',1,'',1795346824376831402,1795346824382302388,'{"answers":[{"question":"Which colour?","answer":"black","by":"@ann:here","event":"$black"}],"used":{"time":3000000000,"steps":2,"tokens":1234}}',1795346824376);
INSERT INTO task VALUES('a6d7a470bc5bf18eb09f',11,'!den:here','$io.matrix-tui.execute-00000000-0000-4000-8000-000000000001','!den:here','','','http','@bot:here',1772601367890000000,'00000000-0000-4000-8000-000000000001','queued','back it up',0,0,0,0,'','','',0,'',0,0,0,'','','','',0,'','','',0,'',0,'',1772601367890000000,1772601367890000000,'{"commands":["pg_dump","gzip"]}',1795346824383);
INSERT INTO task VALUES('9c38ad8213cbb8a85312',12,'!den:here','$changed','!den:here','','','room','@ann:here',1772601427890000000,'2b14b23c-de6e-5921-b4bd-286e7ed129ae','queued','another thing',1,0,0,0,'','','',0,'',0,0,0,'','','','',0,'','','',0,'',0,'',1795346824408504658,1795346824408504658,'{}',1795346824404);
INSERT INTO task VALUES('4bfbfab16f4601d853d8',13,'!den:here','$back','!den:here','','','room','@ann:here',1772601487890000000,'8c3ab197-fde7-50a3-9e48-0d1f3f496e39','queued','never mind',0,0,0,0,'','','',0,'',0,0,0,'','','','',0,'','','@ann:here',1,'',0,'',1795346824415958379,1795346824415958379,'{}',1795346824410);
INSERT INTO task VALUES('a6c5ed72000b7ca67b4c',16,'!den:here','$answered','!den:here','','','room','@ann:here',1772601667890000000,'0b3a2caf-1192-55d7-b26b-d61f35692aaa','answered','sum it up',0,0,1,1,'a6c5ed72000b7ca67b4c-1','container-1','session-2',0,'',0,1772601667890000000,1795350424418601339,'','','','',0,'','','',0,'completed',1,'',1795346824418505967,1795346824421040986,'{"result":"It is 42.","status_line":"\n[2026-11-22 11:27] Task: sum it up\n[2026-11-22 11:27] It is 42.\n"}',1795346824417);
INSERT INTO task VALUES('468be00702dc2cacb3a1',19,'!attic:here','$moved','!old:here','','','room','@ann:here',1772601787890000000,'0ff84d9e-e46f-58bc-8191-8623ce191ec8','waiting','back up the database',0,0,1,1,'ff7558226b7c5be715ec-1','container-1','da8e1e0e-71d0-40e9-8da2-0f89ff9d02f8',0,'',0,1772601787890000000,1795350424423733570,'Which database?','looking at the shed','!old:here','$question-old',1772603587890000000,'','','',0,'',1,'',1795346824423663375,1772601787890000000,'{"used":{"time":3000000000,"steps":2,"tokens":1234}}',1795346824423);
INSERT INTO message VALUES(1,'d04922ce878ee72698a7-eyes','!den:here','reaction','d04922ce878ee72698a7',0,'m.reaction','{"io.matrix-tui.txn":"d04922ce878ee72698a7-eyes","m.relates_to":{"rel_type":"m.annotation","event_id":"$done","key":"👀"}}','','$sent-eyes',1,'',1795346824258);
INSERT INTO message VALUES(2,'d04922ce878ee72698a7-queued-x','!den:here','redaction','d04922ce878ee72698a7',0,'m.room.redaction','{"redacts":"txn:d04922ce878ee72698a7-queued"}','d04922ce878ee72698a7-queued','',2,'its original was not sent',1795346824258);
INSERT INTO message VALUES(3,'d04922ce878ee72698a7-n','!den:here','notice','d04922ce878ee72698a7',0,'m.room.message','{"msgtype":"m.notice","body":"⏳ Working on it …","m.mentions":{},"m.relates_to":{"m.in_reply_to":{"event_id":"$done"}},"io.matrix-tui.txn":"d04922ce878ee72698a7-n"}','','$sent-n',1,'',1795346824258);
INSERT INTO message VALUES(4,'d04922ce878ee72698a7-f0','!den:here','final','d04922ce878ee72698a7',0,'m.room.message','{"msgtype":"m.text","body":"Written **down**.\n\n_6318 h 18 min · 99 tokens · [the task](https://matrix.to/#/%21den:here/$done?via=here)_","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003eWritten \u003cstrong\u003edown\u003c/strong\u003e.\u003c/p\u003e\n\u003cp\u003e\u003cem\u003e6318 h 18 min · 99 tokens · \u003ca href=\"https://matrix.to/#/%21den:here/$done?via=here\"\u003ethe task\u003c/a\u003e\u003c/em\u003e\u003c/p\u003e","m.mentions":{"user_ids":["@ann:here"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$done"}},"io.matrix-tui.txn":"d04922ce878ee72698a7-f0"}','','$sent-f0',1,'',1795346824259);
INSERT INTO message VALUES(5,'d04922ce878ee72698a7-n-e','!den:here','notice-edit','d04922ce878ee72698a7',0,'m.room.message','{"msgtype":"m.notice","body":"* ✅ Done in 6318 h 18 min · 99 tokens","m.mentions":{},"m.new_content":{"msgtype":"m.notice","body":"✅ Done in 6318 h 18 min · 99 tokens","m.mentions":{}},"m.relates_to":{"rel_type":"m.replace","event_id":"txn:d04922ce878ee72698a7-n"},"io.matrix-tui.txn":"d04922ce878ee72698a7-n-e"}','d04922ce878ee72698a7-n','$sent-n-e',1,'',1795346824259);
INSERT INTO message VALUES(6,'d04922ce878ee72698a7-eyes-x','!den:here','redaction','d04922ce878ee72698a7',0,'m.room.redaction','{"redacts":"txn:d04922ce878ee72698a7-eyes"}','d04922ce878ee72698a7-eyes','$sent-eyes-x',1,'',1795346824259);
INSERT INTO message VALUES(8,'d04922ce878ee72698a7-end','!den:here','reaction','d04922ce878ee72698a7',0,'m.reaction','{"io.matrix-tui.txn":"d04922ce878ee72698a7-end","m.relates_to":{"rel_type":"m.annotation","event_id":"$done","key":"✅"}}','','$sent-end',1,'',1795346824259);
INSERT INTO message VALUES(9,'16b450a576f880697ac4-eyes','!den:here','reaction','16b450a576f880697ac4',0,'m.reaction','{"io.matrix-tui.txn":"16b450a576f880697ac4-eyes","m.relates_to":{"rel_type":"m.annotation","event_id":"$running","key":"👀"}}','','$running-eyes',1,'',1795346824263);
INSERT INTO message VALUES(10,'16b450a576f880697ac4-queued-x','!den:here','redaction','16b450a576f880697ac4',0,'m.room.redaction','{"redacts":"txn:16b450a576f880697ac4-queued"}','16b450a576f880697ac4-queued','',0,'',1795346824263);
INSERT INTO message VALUES(11,'16b450a576f880697ac4-n','!den:here','notice','16b450a576f880697ac4',0,'m.room.message','{"msgtype":"m.notice","body":"⏳ Working on it …","m.mentions":{},"m.relates_to":{"rel_type":"m.thread","event_id":"$root","m.in_reply_to":{"event_id":"$running"}},"io.matrix-tui.txn":"16b450a576f880697ac4-n"}','','$running-notice',1,'',1795346824263);
INSERT INTO message VALUES(12,'16b450a576f880697ac4-n-e','!den:here','notice-edit','16b450a576f880697ac4',0,'m.room.message','{"msgtype":"m.notice","body":"* step 1","m.mentions":{},"m.new_content":{"msgtype":"m.notice","body":"step 1","m.mentions":{}},"m.relates_to":{"rel_type":"m.replace","event_id":"txn:16b450a576f880697ac4-n"},"io.matrix-tui.txn":"16b450a576f880697ac4-n-e"}','16b450a576f880697ac4-n','',0,'',1795346824264);
INSERT INTO message VALUES(13,'346c6f11f4378fcfbc2e-q0','!den:here','question','346c6f11f4378fcfbc2e',0,'m.room.message','{"msgtype":"m.text","body":"I need your input:\n\nMay I?\n\nContext: looking at the shed\n\n_Reply to answer; `!stop` gives up. I wait 30 min 0 s._","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003eI need your input:\u003c/p\u003e\n\u003cp\u003eMay I?\u003c/p\u003e\n\u003cp\u003eContext: looking at the shed\u003c/p\u003e\n\u003cp\u003e\u003cem\u003eReply to answer; \u003ccode\u003e!stop\u003c/code\u003e gives up. I wait 30 min 0 s.\u003c/em\u003e\u003c/p\u003e","m.mentions":{"user_ids":["@ann:here"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$waiting"}},"io.matrix-tui.txn":"346c6f11f4378fcfbc2e-q0"}','','$question-0',1,'',1795346824269);
INSERT INTO message VALUES(14,'346c6f11f4378fcfbc2e-n-e','!den:here','notice-edit','346c6f11f4378fcfbc2e',0,'m.room.message','{"msgtype":"m.notice","body":"* ❓ I asked","m.mentions":{},"m.new_content":{"msgtype":"m.notice","body":"❓ I asked","m.mentions":{}},"m.relates_to":{"rel_type":"m.replace","event_id":"txn:346c6f11f4378fcfbc2e-n"},"io.matrix-tui.txn":"346c6f11f4378fcfbc2e-n-e"}','346c6f11f4378fcfbc2e-n','',0,'',1795346824269);
INSERT INTO message VALUES(15,'346c6f11f4378fcfbc2e-n1','!den:here','notice','346c6f11f4378fcfbc2e',1,'m.room.message','{"msgtype":"m.notice","body":"⏳ Going on with ann''s answer …","m.mentions":{},"m.relates_to":{"m.in_reply_to":{"event_id":"$yes"}},"io.matrix-tui.txn":"346c6f11f4378fcfbc2e-n1"}','','',0,'',1795346824343);
INSERT INTO message VALUES(16,'346c6f11f4378fcfbc2e-q1','!den:here','question','346c6f11f4378fcfbc2e',1,'m.room.message','{"msgtype":"m.text","body":"I need your input:\n\nWhich colour?\n1. red\n2. green\n\n_Tap 1–2, or reply in your own words; `!stop` gives up. I wait 30 min 0 s._","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003eI need your input:\u003c/p\u003e\n\u003cp\u003eWhich colour?\u003c/p\u003e\n\u003col\u003e\n\u003cli\u003ered\u003c/li\u003e\n\u003cli\u003egreen\u003c/li\u003e\n\u003c/ol\u003e\n\u003cp\u003e\u003cem\u003eTap 1–2, or reply in your own words; \u003ccode\u003e!stop\u003c/code\u003e gives up. I wait 30 min 0 s.\u003c/em\u003e\u003c/p\u003e","m.mentions":{"user_ids":["@ann:here"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$waiting"}},"io.matrix-tui.txn":"346c6f11f4378fcfbc2e-q1"}','','$question-1',1,'',1795346824370);
INSERT INTO message VALUES(17,'346c6f11f4378fcfbc2e-q1-r0','!den:here','option','346c6f11f4378fcfbc2e',1,'m.reaction','{"io.matrix-tui.txn":"346c6f11f4378fcfbc2e-q1-r0","m.relates_to":{"rel_type":"m.annotation","event_id":"txn:346c6f11f4378fcfbc2e-q1","key":"1️⃣"}}','346c6f11f4378fcfbc2e-q1','$option-0',1,'',1795346824370);
INSERT INTO message VALUES(18,'346c6f11f4378fcfbc2e-q1-r1','!den:here','option','346c6f11f4378fcfbc2e',1,'m.reaction','{"io.matrix-tui.txn":"346c6f11f4378fcfbc2e-q1-r1","m.relates_to":{"rel_type":"m.annotation","event_id":"txn:346c6f11f4378fcfbc2e-q1","key":"2️⃣"}}','346c6f11f4378fcfbc2e-q1','',0,'',1795346824370);
INSERT INTO message VALUES(19,'346c6f11f4378fcfbc2e-q1-w','!den:here','reminder','346c6f11f4378fcfbc2e',1,'m.room.message','{"msgtype":"m.text","body":"⏰ I still wait for your input: https://matrix.to/#/%21den:here/$question-1?via=here\n\nI give up in 30 min 0 s.","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003e⏰ I still wait for your input: https://matrix.to/#/%21den:here/$question-1?via=here\u003c/p\u003e\n\u003cp\u003eI give up in 30 min 0 s.\u003c/p\u003e","m.mentions":{"user_ids":["@ann:here"]},"m.relates_to":{"m.in_reply_to":{"event_id":"txn:346c6f11f4378fcfbc2e-q1"}},"io.matrix-tui.txn":"346c6f11f4378fcfbc2e-q1-w"}','346c6f11f4378fcfbc2e-q1','',0,'',1795346824373);
INSERT INTO message VALUES(20,'beb08462308d34db5c11-q0','!den:here','question','beb08462308d34db5c11',0,'m.room.message','{"msgtype":"m.text","body":"I need your input:\n\nMay I run this command in `/workspace`?\n\n```\nmake deploy\n```\n\nContext: ann''s task needs it\n\n_✅ runs it once, ❌ refuses; `!stop` gives up. I wait 30 min 0 s._","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003eI need your input:\u003c/p\u003e\n\u003cp\u003eMay I run this command in \u003ccode\u003e/workspace\u003c/code\u003e?\u003c/p\u003e\n\u003cpre\u003e\u003ccode\u003emake deploy\n\u003c/code\u003e\u003c/pre\u003e\n\u003cp\u003eContext: ann''s task needs it\u003c/p\u003e\n\u003cp\u003e\u003cem\u003e✅ runs it once, ❌ refuses; \u003ccode\u003e!stop\u003c/code\u003e gives up. I wait 30 min 0 s.\u003c/em\u003e\u003c/p\u003e","m.mentions":{"user_ids":["@ann:here"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$held"}},"io.matrix-tui.txn":"beb08462308d34db5c11-q0"}','','',0,'',1795346824376);
INSERT INTO message VALUES(21,'beb08462308d34db5c11-q0-r0','!den:here','option','beb08462308d34db5c11',0,'m.reaction','{"io.matrix-tui.txn":"beb08462308d34db5c11-q0-r0","m.relates_to":{"rel_type":"m.annotation","event_id":"txn:beb08462308d34db5c11-q0","key":"✅"}}','beb08462308d34db5c11-q0','',0,'',1795346824376);
INSERT INTO message VALUES(22,'beb08462308d34db5c11-q0-r1','!den:here','option','beb08462308d34db5c11',0,'m.reaction','{"io.matrix-tui.txn":"beb08462308d34db5c11-q0-r1","m.relates_to":{"rel_type":"m.annotation","event_id":"txn:beb08462308d34db5c11-q0","key":"❌"}}','beb08462308d34db5c11-q0','',0,'',1795346824376);
INSERT INTO message VALUES(23,'e7359257a5a76ae92677-q0','!den:here','question','e7359257a5a76ae92677',0,'m.room.message','{"msgtype":"m.text","body":"I need your input:\n\nWhich colour?\n\nContext: looking at the shed\n\n_Reply to answer; `!stop` gives up. I wait 30 min 0 s._","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003eI need your input:\u003c/p\u003e\n\u003cp\u003eWhich colour?\u003c/p\u003e\n\u003cp\u003eContext: looking at the shed\u003c/p\u003e\n\u003cp\u003e\u003cem\u003eReply to answer; \u003ccode\u003e!stop\u003c/code\u003e gives up. I wait 30 min 0 s.\u003c/em\u003e\u003c/p\u003e","m.mentions":{"user_ids":["@ann:here"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$again"}},"io.matrix-tui.txn":"e7359257a5a76ae92677-q0"}','','$question-again',1,'',1795346824379);
INSERT INTO message VALUES(24,'e7359257a5a76ae92677-n-e','!den:here','notice-edit','e7359257a5a76ae92677',0,'m.room.message','{"msgtype":"m.notice","body":"* ❓ I asked","m.mentions":{},"m.new_content":{"msgtype":"m.notice","body":"❓ I asked","m.mentions":{}},"m.relates_to":{"rel_type":"m.replace","event_id":"txn:e7359257a5a76ae92677-n"},"io.matrix-tui.txn":"e7359257a5a76ae92677-n-e"}','e7359257a5a76ae92677-n','',0,'',1795346824379);
INSERT INTO message VALUES(25,'e7359257a5a76ae92677-n1','!den:here','notice','e7359257a5a76ae92677',1,'m.room.message','{"msgtype":"m.notice","body":"⏳ Going on with ann''s answer …","m.mentions":{},"m.relates_to":{"m.in_reply_to":{"event_id":"$black"}},"io.matrix-tui.txn":"e7359257a5a76ae92677-n1"}','','',0,'',1795346824382);
INSERT INTO message VALUES(26,'a6d7a470bc5bf18eb09f-t','!den:here','arrival','a6d7a470bc5bf18eb09f',0,'m.room.message','{"msgtype":"m.notice","body":"📥 A task came by HTTP:\n\n```\nback it up\n\nPlan to execute:\npg_dump\ngzip\n```","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003e📥 A task came by HTTP:\u003c/p\u003e\n\u003cpre\u003e\u003ccode\u003eback it up\n\nPlan to execute:\npg_dump\ngzip\n\u003c/code\u003e\u003c/pre\u003e","m.mentions":{},"io.matrix-tui.txn":"a6d7a470bc5bf18eb09f-t"}','','',0,'',1795346824384);
INSERT INTO message VALUES(27,'9c38ad8213cbb8a85312-queued','!den:here','reaction','9c38ad8213cbb8a85312',0,'m.reaction','{"io.matrix-tui.txn":"9c38ad8213cbb8a85312-queued","m.relates_to":{"rel_type":"m.annotation","event_id":"$changed","key":"⏳"}}','','',0,'',1795346824416);
INSERT INTO message VALUES(28,'a6c5ed72000b7ca67b4c-eyes','!den:here','reaction','a6c5ed72000b7ca67b4c',0,'m.reaction','{"io.matrix-tui.txn":"a6c5ed72000b7ca67b4c-eyes","m.relates_to":{"rel_type":"m.annotation","event_id":"$answered","key":"👀"}}','','',0,'',1795346824420);
INSERT INTO message VALUES(29,'a6c5ed72000b7ca67b4c-queued-x','!den:here','redaction','a6c5ed72000b7ca67b4c',0,'m.room.redaction','{"redacts":"txn:a6c5ed72000b7ca67b4c-queued"}','a6c5ed72000b7ca67b4c-queued','',0,'',1795346824420);
INSERT INTO message VALUES(30,'a6c5ed72000b7ca67b4c-n','!den:here','notice','a6c5ed72000b7ca67b4c',0,'m.room.message','{"msgtype":"m.notice","body":"⏳ Working on it …","m.mentions":{},"m.relates_to":{"m.in_reply_to":{"event_id":"$answered"}},"io.matrix-tui.txn":"a6c5ed72000b7ca67b4c-n"}','','',0,'',1795346824420);
INSERT INTO message VALUES(31,'a6c5ed72000b7ca67b4c-f0','!den:here','final','a6c5ed72000b7ca67b4c',0,'m.room.message','{"msgtype":"m.text","body":"It is 42.\n\n_6318 h 5 min · [the task](https://matrix.to/#/%21den:here/$answered?via=here)_","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003eIt is 42.\u003c/p\u003e\n\u003cp\u003e\u003cem\u003e6318 h 5 min · \u003ca href=\"https://matrix.to/#/%21den:here/$answered?via=here\"\u003ethe task\u003c/a\u003e\u003c/em\u003e\u003c/p\u003e","m.mentions":{"user_ids":["@ann:here"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$answered"}},"io.matrix-tui.txn":"a6c5ed72000b7ca67b4c-f0"}','','',0,'',1795346824421);
INSERT INTO message VALUES(32,'a6c5ed72000b7ca67b4c-n-e','!den:here','notice-edit','a6c5ed72000b7ca67b4c',0,'m.room.message','{"msgtype":"m.notice","body":"* ✅ Done in 6318 h 5 min","m.mentions":{},"m.new_content":{"msgtype":"m.notice","body":"✅ Done in 6318 h 5 min","m.mentions":{}},"m.relates_to":{"rel_type":"m.replace","event_id":"txn:a6c5ed72000b7ca67b4c-n"},"io.matrix-tui.txn":"a6c5ed72000b7ca67b4c-n-e"}','a6c5ed72000b7ca67b4c-n','',0,'',1795346824421);
INSERT INTO message VALUES(33,'a6c5ed72000b7ca67b4c-eyes-x','!den:here','redaction','a6c5ed72000b7ca67b4c',0,'m.room.redaction','{"redacts":"txn:a6c5ed72000b7ca67b4c-eyes"}','a6c5ed72000b7ca67b4c-eyes','',0,'',1795346824421);
INSERT INTO message VALUES(35,'a6c5ed72000b7ca67b4c-end','!den:here','reaction','a6c5ed72000b7ca67b4c',0,'m.reaction','{"io.matrix-tui.txn":"a6c5ed72000b7ca67b4c-end","m.relates_to":{"rel_type":"m.annotation","event_id":"$answered","key":"✅"}}','','',0,'',1795346824421);
INSERT INTO message VALUES(36,'o0123456789abcdef','!den:here','file','a6c5ed72000b7ca67b4c',0,'m.room.message','{"body":"sum.txt","io.matrix-tui.txn":"o0123456789abcdef","msgtype":"m.file","url":"mxc://here/sum"}','','',0,'',1795346824421);
INSERT INTO message VALUES(37,'3ff21037434271d3ee36-a','!attic:here','reply','',0,'m.room.message','{"msgtype":"m.notice","body":"Write me.","m.mentions":{},"m.relates_to":{"m.in_reply_to":{"event_id":"$help"}},"io.matrix-tui.txn":"3ff21037434271d3ee36-a"}','','',0,'',1795346824422);
INSERT INTO message VALUES(38,'3ff21037434271d3ee36-g','!attic:here','greeting','',0,'m.room.message','{"msgtype":"m.notice","body":"Hello!","m.mentions":{},"io.matrix-tui.txn":"3ff21037434271d3ee36-g"}','','',0,'',1795346824422);
INSERT INTO message VALUES(39,'ff7558226b7c5be715ec-q0','!old:here','question','',0,'m.room.message','{"msgtype":"m.text","body":"I need your input:\n\nWhich database?\n\nContext: looking at the shed\n\n_Reply to answer; `!stop` gives up. I wait 30 min 0 s._","format":"org.matrix.custom.html","formatted_body":"\u003cp\u003eI need your input:\u003c/p\u003e\n\u003cp\u003eWhich database?\u003c/p\u003e\n\u003cp\u003eContext: looking at the shed\u003c/p\u003e\n\u003cp\u003e\u003cem\u003eReply to answer; \u003ccode\u003e!stop\u003c/code\u003e gives up. I wait 30 min 0 s.\u003c/em\u003e\u003c/p\u003e","m.mentions":{"user_ids":["@ann:here"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$moved"}},"io.matrix-tui.txn":"ff7558226b7c5be715ec-q0"}','','$question-old',1,'',1795346824424);
INSERT INTO message VALUES(40,'ff7558226b7c5be715ec-n-e','!attic:here','notice-edit','',0,'m.room.message','{"msgtype":"m.notice","body":"* ❓ I asked","m.mentions":{},"m.new_content":{"msgtype":"m.notice","body":"❓ I asked","m.mentions":{}},"m.relates_to":{"rel_type":"m.replace","event_id":"txn:ff7558226b7c5be715ec-n"},"io.matrix-tui.txn":"ff7558226b7c5be715ec-n-e"}','ff7558226b7c5be715ec-n','',0,'',1795346824424);
INSERT INTO spending VALUES('!den:here',20000,1,2,3,4,5,6,7,8);
INSERT INTO attempt VALUES('image',1,5);
UPDATE sqlite_sequence SET seq = 50 WHERE name = 'event';
COMMIT;
