package bottest

import (
	"context"

	"matrix-tui/bot/bottest/person"
)

// verb is one word of the scripts.
type verb struct {
	name     string
	args     string // as in the usage message
	min, max int    // number of arguments; max -1 = any
	negates  bool   // may follow "!", also without a space
	do       doer
}

type doer func(ctx context.Context, sc *script, neg bool, args []string) error

// verbs is the whole language. ROOM and USER are names of the script's own; `bot` is the bot. Patterns are Go regular
// expressions. In arguments outside quotes $alice is the user ID, $den the room ID, $den_container the container's
// name, $den_workspace and $den_home its volumes, $state the state folder.
var verbs = []verb{
	// the bot
	// run it with these settings (they stay) until it is ready; !start: it must refuse, and stderr has its output
	{"start", "[KEY=VALUE…]", 0, -1, true, doStart},
	{"launch", "[KEY=VALUE…]", 0, -1, false, doLaunch}, // the same without waiting
	{"ready", "", 0, 0, false, doReady},                // wait until the bot's log says ready
	{"bot-stop", "", 0, 0, false, doStop},              // `stop`: SIGTERM, and it must exit with code 0
	{"bot-kill", "", 0, 0, false, doKill},              // `kill`: SIGKILL
	// crash point of the next start; a running bot is restarted with it
	{"killat", "POINT", 1, 1, false, doKillAt},
	{"died", "", 0, 0, false, doDied}, // wait until it has killed itself there
	// from here on, in deploy/test --kills, the bot dies before the effect whose turn it is, and is started again
	{"drill", "", 0, 0, false, doDrill},
	{"drilled", "", 0, 0, false, doDrilled}, // the end of that, when the bot has finished everything
	// wait until it has exited with an error; stderr has its log since its start
	{"failed", "", 0, 0, false, doFailed},
	// the homeserver invalidates the bot's token, as after a password reset
	{"logout-bot", "", 0, 0, false, doLogoutBot},
	{"logged-in", "", 0, 0, false, doLoggedIn}, // wait until the bot has stored another login since then
	// $token is an access token of the bot's account, of a new session
	{"token", "", 0, 0, false, doToken},
	// from the next start, the homeserver reports no session for the bot's token
	{"deviceless", "", 0, 0, false, doDeviceless},
	// bot and containers lose power, containers come back as podman-restart.service starts them, then the bot
	{"reboot", "", 0, 0, false, doReboot},
	{"log", "REGEXP", 1, 1, true, doLog},          // the bot's log since its start matches
	{"logged", "REGEXP N", 2, 2, false, doLogged}, // exactly N matching lines of it, when all is quiet
	// upper limit of the bot's resident memory; the second one with the race detector
	{"memory-below", "MB [MB]", 1, 2, false, doMemory},
	{"matrix-tui", "ARGV…", 1, -1, true, doCLI}, // run a subcommand with the bot's settings
	{"quiet", "", 0, 0, false, doQuiet},         // wait until the bot has finished everything sent to it
	// the bot, which must not be running, has N more queued tasks of USER, PREFIX 1 … PREFIX N
	{"in-line", "USER ROOM N PREFIX", 4, 4, false, doInLine},
	// the bot, which must not be running, gets a journal of an earlier release, about what USER has said in ROOM
	{"old-journal", "USER ROOM", 2, 2, false, doOldJournal},
	// another client of the account makes this its only direct chat
	{"m-direct", "WHO ROOM", 2, 2, false, doDirect},
	{"profile", "NAME PICTURE", 2, 2, false, doProfile}, // the bot's display name, and the address of its picture
	{"set-profile", "NAME [PICTURE]", 1, 2, false, doSetProfile},

	// releases
	// the bot runs from a folder of releases, $base, with a git remote as its source: main is newer than base by a commit;
	// the named branches (see changes) are built beforehand; $release_BRANCH are their names, $key is the key that signs
	// tags
	{"releases", "[BRANCH…]", 0, -1, false, doReleases},
	// before install: the machine's bot has a folder with archives of these branches as its source
	{"shelf", "BRANCH…", 1, -1, false, doShelf},
	{"runs", "BRANCH", 1, 1, false, doRuns},  // wait until the release of that branch has the state folder
	{"same-pid", "", 0, 0, false, doSamePID}, // the process that was started still runs
	// wait until nothing runs from $base: the rollback has killed itself at the point of killat
	{"all-died", "", 0, 0, false, doAllDied},
	{"powercut", "", 0, 0, false, doPowerCut}, // everything that runs from $base is killed at once
	// before `releases`: $base is on its own file system; later: change its size
	{"releases-disk", "SIZE", 1, 1, false, doReleasesDisk},

	// people
	// with a cross-signing identity that has signed the device; unsigned: without one
	{"user", "NAME… [unsigned]", 1, -1, false, doUser},
	// another device of USER, usable like a user; nobody has signed it, as if the homeserver had invented it
	{"device", "NAME USER", 2, 2, false, doDevice},
	// the identity of USER signs another device of theirs, as when they verify it
	{"sign", "USER DEVICE", 2, 2, false, doSign},
	// the first user creates it, the others are invited and join; clear: even if the script runs in encrypted rooms
	{"room", "ROOM USER… [encrypted|clear]", 2, -1, false, doRoom},
	{"invite", "USER ROOM WHO", 3, 3, false, toUser((*person.Person).Invite)},
	{"join", "USER ROOM", 2, 2, false, toRoom((*person.Person).Join)},
	{"leave", "USER ROOM", 2, 2, false, toRoom((*person.Person).Leave)},
	{"kick", "USER ROOM WHO", 3, 3, false, toUser((*person.Person).Kick)},
	// WHAT is a user, an event type, or a level such as events_default
	{"power", "USER ROOM WHAT LEVEL", 4, 4, false, doPower},
	// the room claims that OTHER is its successor; OTHER does not confirm it
	{"tombstone", "USER ROOM OTHER", 3, 3, false, doTombstone},
	// the room gets a tombstone, NEW is its successor; clear: one without encryption
	{"upgrade", "USER ROOM NEW [clear]", 3, 4, false, doUpgrade},
	{"say", "USER ROOM TEXT", 3, 3, false, doSay},
	{"say-file", "USER ROOM FILE", 3, 3, true, doSayFile}, // the file's text without its last newline
	// the text as a JSON string, for what a script cannot contain; ! for both: the homeserver refuses it
	{"say-json", "USER ROOM JSON", 3, 3, true, doSayJSON},
	// a message that the bot must ignore: nothing waits for it to be finished
	{"say-unheard", "USER ROOM TEXT", 3, 3, false, doSayUnheard},
	{"say-clear", "USER ROOM TEXT", 3, 3, false, doSayClear}, // the same in clear, also in an encrypted room
	{"notice", "USER ROOM TEXT", 3, 3, false, doNotice},
	{"hostile", "USER ROOM N", 3, 3, false, doHostile},    // N nonsensical events
	{"flood", "USER ROOM N PREFIX", 4, 4, false, doFlood}, // PREFIX 1 … PREFIX N as fast as the server accepts them
	{"replyto", "USER ROOM REGEXP TEXT", 4, 4, false, doReplyTo},
	// encrypted, with the relation outside the ciphertext only
	{"replyto-outside", "USER ROOM REGEXP TEXT", 4, 4, false, doReplyOutside},
	// the words that the newest matching question asks for, as a reply; plain: as no reply
	{"approve", "USER ROOM REGEXP [plain|outside]", 3, 4, false, doApprove},
	// with the quoted message before the text, as older clients do
	{"old-reply", "USER ROOM REGEXP TEXT", 4, 4, false, doOldReply},
	// in the thread of the newest matching message
	{"thread", "USER ROOM REGEXP TEXT", 4, 4, false, doThread},
	// the newest matching message is in the thread of ROOT
	{"threaded", "USER ROOM REGEXP ROOT", 4, 4, true, doThreaded},
	// in ROOM, a reply to a message of the room OTHER
	{"misreply", "USER ROOM OTHER REGEXP TEXT", 5, 5, false, doMisreply},
	{"react", "USER ROOM REGEXP KEY", 4, 4, false, doReact},
	{"edit", "USER ROOM REGEXP TEXT", 4, 4, false, doEdit},
	// the same in clear, also in an encrypted room; nothing waits for it to be finished
	{"edit-clear", "USER ROOM REGEXP TEXT", 4, 4, false, doEditClear},
	{"redact", "USER ROOM REGEXP", 3, 3, false, doRedact},
	{"upload", "USER ROOM FILE", 3, 3, false, doUpload},
	{"encrypt", "USER ROOM", 2, 2, false, toRoom((*person.Person).Encryption)}, // the room becomes encrypted
	// USER's client does not send its keys for encrypted rooms; release: sends them late
	{"keys", "USER hold|release", 2, 2, false, doKeys},
	// NAME logs in with Element's engine, or does something with it: see elementVerbs; unsigned: as a session, of USER,
	// that no identity has signed
	{"element", "NAME [unsigned [USER]|VERB…]", 1, -1, false, doElement},
	// USER verifies the bot, by messages in ROOM as Element does in a direct chat; the bot's log has the emojis that USER
	// sees; !verify: the bot does not answer
	{"verify", "USER [ROOM]", 1, 2, true, doVerify},
	// the homeserver has seen this, in an event of the room, a file or anywhere else; !cleartext: never
	{"cleartext", "ROOM REGEXP", 2, 2, true, doCleartext},
	// the newest file of somebody else matches, after decryption
	{"file-has", "USER ROOM REGEXP", 3, 3, false, doFileHas},
	// voice, sticker, gone (the server does not have it), or - to go by its name
	{"parcel", "USER ROOM FILE KIND [CAPTION]", 4, 5, false, doParcel},

	// what they see; the line goes to stdout
	// any message of somebody else, each message once; !expect: no message has ever matched
	{"expect", "USER ROOM REGEXP [TIMEOUT]", 3, 4, true, doExpect},
	// the same for the bot's results: text, not edited, about a task, and not a question
	{"final", "USER ROOM REGEXP [TIMEOUT]", 3, 4, true, doFinal},
	// a question of the bot's, each once: text, about a task, mentioning only its requester, and in a room of two nobody
	{"question", "USER ROOM REGEXP [TIMEOUT]", 3, 4, true, doQuestion},
	// wait until the deadlines of all questions in the rooms have passed, whether the bot runs or not
	{"overdue", "ROOM…", 1, -1, false, doOverdue},
	// while the bot is not running: an entry of the schedule is due at another time, or earlier or later by this
	{"due", "ROOM NUMBER TIME|DURATION", 3, 3, false, doDue},
	// an execution of the room waits for the answer to this message
	{"pinned", "USER ROOM REGEXP", 3, 3, false, doPinned},
	// the bot's reactions on the newest matching message, exactly and in this order, when all is quiet
	{"reactions", "USER ROOM REGEXP KEY…", 3, -1, false, doReactions},
	// the newest matching message has a matrix.to link to the newest one that matches TARGET, in the room OTHER if given
	{"linked", "USER ROOM REGEXP TARGET [OTHER]", 4, 5, false, doLinked},
	// everything that the bot replies to, edits, reacts to or redacts in the room is in this room, when all is quiet
	{"anchored", "USER ROOM", 2, 2, false, doAnchored},
	// the people whom all messages of the bot in the room together mention, when all is quiet
	{"pings", "USER ROOM WHO…", 2, -1, false, doPings},
	{"expect-order", "USER ROOM REGEXP…", 3, -1, false, doExpectOrder}, // finals in this order
	// exactly N messages of others, edits aside, when all is quiet
	{"count", "USER ROOM REGEXP N", 4, 4, false, doCount},
	// exactly N finals when all is quiet, at most one per task, also of tasks from a room that was upgraded to this one
	{"finals", "USER ROOM N", 3, 3, false, doFinals},
	// the bot has reacted with KEY to the newest matching message, now or earlier
	{"reacted", "USER ROOM REGEXP KEY", 4, 4, false, doReacted},
	// the bot's read receipt covers the newest matching message; !read: it has never been on it
	{"read", "USER ROOM REGEXP", 3, 3, true, doRead},
	{"typing", "USER ROOM [TIMEOUT]", 2, 3, true, doTyping},     // the bot is typing; !typing: it has stopped
	{"begin-typing", "USER ROOM", 2, 2, false, doBeginTyping},   // USER begins to type
	{"joined", "USER ROOM WHO [TIMEOUT]", 3, 4, true, doJoined}, // WHO is in the room; !joined: is not
	{"replies", "USER ROOM REGEXP", 3, 3, true, doReplies},      // the newest matching message is a reply
	// the newest matching message is the room's last event, when all is quiet
	{"last", "USER ROOM REGEXP", 3, 3, false, doLast},
	// exactly N messages of the bot say what a task has used, in their newest version, when all is quiet
	{"figures", "USER ROOM N", 3, 3, false, doFigures},
	{"mentioned", "USER ROOM REGEXP", 3, 3, true, doMentioned}, // a matching message mentions USER
	{"html", "USER ROOM REGEXP", 3, 3, true, doHTML},           // formatted body of any message of others
	// a file from somebody else, each once, into FILE; its kind and name go to stdout
	{"download", "USER ROOM REGEXP FILE", 4, 4, false, doDownload},
	{"content", "USER ROOM REGEXP", 3, 3, false, doContent}, // the newest matching message, as JSON to stdout

	// the minimum pause between two edits of one progress notice; its last edit belongs to the result
	{"edit-pace", "USER ROOM DURATION", 3, 3, false, doEditPace},

	// the container
	{"in-container", "ROOM ARGV…", 2, -1, true, doInContainer},
	{"podman", "ARGV…", 1, -1, true, doPodman},
	{"podman-service", "stop|start", 1, 1, false, doPodmanService},
	// wait until Gemini runs in the container; !gemini-running: until it does not
	{"gemini-running", "ROOM", 1, 1, true, doGeminiRunning},
	// wait until Gemini is parked in the container and has initialized; !parked: until it is not
	{"parked", "ROOM", 1, 1, true, doParked},
	// wait until Gemini is parked in exactly N of the containers, and all have initialized
	{"parked-in", "N ROOM…", 2, -1, false, doParkedIn},
	{"process", "ROOM", 1, 1, false, doProcess},             // remember the Gemini process in the container
	{"same-process", "ROOM", 1, 1, false, doSameProcess},    // it is still the same
	{"container", "ROOM", 1, 1, false, doContainer},         // remember the container's ID
	{"same-container", "ROOM", 1, 1, true, doSameContainer}, // it is still the same

	// what happens to the cluster that rooms are in, until the script ends: PART is one of deploy/kube-test/cluster;
	// node: $pod is the room's pod, $node is the node that it is on, and $other the other one; kubectl: as the administrator
	{"kube", "kill|start PART…|node ROOM|kubectl ARG…", 2, -1, true, doKube},

	// the model
	{"model", "FILE", 1, 1, false, doModel},
	// sent since the last model-saw; !model-saw: in the whole script
	{"model-saw", "REGEXP", 1, 1, true, doModelSaw},
	// number of the script's requests whose newest user text matches
	{"model-count", "REGEXP N", 2, 2, false, doModelCount},
	// from here on requests will be refused as Google would; any other refusal fails the script
	{"model-refuses", "REGEXP", 1, 1, false, doModelRefuses},

	// the bot's HTTP interface (start API_LISTEN=0); $den, $bot and $ID, the last session ID seen, are expanded in
	// paths and bodies, also in quotes
	// with the bot's token; status and body go to stdout; 'Authorization:' removes the token
	{"http", "METHOD PATH [BODY [HEADER…]]", 2, -1, false, doHTTP},
	{"http-wait", "PATH REGEXP [TIMEOUT]", 2, 3, false, doHTTPWait}, // GET until the body matches

	// the bot's page (start WEB_LISTEN=0): each user has a browser; $ID is expanded in paths
	{"page-code", "USER", 1, 1, false, doPageCode},           // $CODE is the command that it asks for
	{"page-number", "USER ROOM", 2, 2, false, doPageNumber},  // $NUMBER is what the bot has answered to it
	{"page", "USER PATH", 2, 2, true, doPage},                // status and text go to stdout; ! for both: it refuses
	{"page-large", "USER ROOM MB", 3, 3, false, doPageLarge}, // a file, up and down
	{"press", "USER PATH [NAME=VALUE…]", 2, -1, true, doPress},

	// the host
	// wiped: it starts without its data, and the bot's account is made again
	{"homeserver", "own|stop|start|wiped|limit [USER]", 1, 2, false, doHomeserver},
	// faults of the homeserver, as the bot sees it: see doc.go; the first one before the bot's first start
	{"proxy", "on|inject|invite|rewrite|answer|delay|cut|met …", 1, -1, false, doProxy},
	// the same as `proxy answer`, with this errcode
	{"refuse", "N STATUS ERRCODE REGEXP", 4, 4, false, doRefuse},
	{"refused", "", 0, 0, false, doRefused}, // the same as `proxy met`
	// delay the bot's requests whose method and path match; the first one before the bot's first start
	{"hold", "REGEXP", 1, 1, false, doHold},
	// wait until N are delayed, and never more
	{"held", "N", 1, 1, false, doHeld},
	{"release", "", 0, 0, false, doRelease}, // let them continue
	// a bare host with systemd, Debian 12 or the SUITE; `install` installs its bot, from a release or a clone; $home is
	// its folder, $port is free
	{"machine", "[clone|qemu [SUITE]]", 0, 2, false, doMachine},
	// run deploy/install there, with the script's settings and these as answers
	{"install", "[OPTION…] [KEY=VALUE…]", 0, -1, true, doInstall},
	{"on-machine", "ARGV…", 1, -1, true, doOnMachine}, // run a command there as root
	// cut its power, and restore it; it waits until everything is up
	{"machine-power", "off|on", 1, 1, false, doMachinePower},
	// the state folder on its own file system; bad: on a disk that can fail
	{"statedir", "tmpfs SIZE|bad disk", 2, 2, false, doStateDir},
	// on a bad disk, operations on files with such names fail from now on; failed: wait until one has; works: no longer
	{"disk", "read|write|sync REGEXP|failed|works", 1, 2, false, doDisk},
	// before the first start: the bot's /etc/hosts is FILE
	{"hosts", "FILE", 1, 1, false, doHosts},
	// policy.yaml; without it, the bot answers everything sent to it
	{"policy", "FILE|none", 1, 1, false, doPolicy},
	// OWNER accepts in ROOM the code that WHO got in THEIRS
	{"pair", "OWNER ROOM WHO THEIRS", 4, 4, false, doPair},
	{"statefile", "truncate-half|readonly|writable|fill|free|resize [SIZE]", 1, 2, false, doStateFile},
	{"state", "PATH REGEXP", 2, 2, true, doState}, // a value in state.json: .containers[den]
	// the bot's journal has a message that it will never send: its type, content and error
	{"given-up", "ROOM REGEXP", 2, 2, false, doGivenUp},
	// $ID is the session ID of the room's execution N, from 0; negative from the end
	{"execution", "ROOM N", 2, 2, false, doExecution},
	{"deadline", "DURATION", 1, 1, false, doDeadline},
}
