// Package bottest runs conversation scripts: testscript files that read like a chat. They run against a real
// homeserver, real podman and the real Gemini CLI, with a scripted model instead of Google's.
//
//	# a task, a restart, and the room remembers
//	model prime.yaml
//	start
//	user alice
//	room den alice bot
//	say alice den 'write a prime checker'
//	final alice den 'Created utils\.py'
//	kill
//	start
//	say alice den 'add tests'
//	final alice den 'tests'
//	model-saw 'is_prime'
//
// A verb does what a person would do, through that person's own client. The table in verbs.go lists the verbs. Each
// script has its own bot account, state directory, model server and podman service, so scripts run in parallel; they
// share the homeserver.
//
// The line `# also encrypted` makes a script run a second time, as NAME-in-encrypted-rooms, with all its rooms
// encrypted. MATRIX_TUI_ENCRYPTED=1 does that for every script. A line `# unencrypted only from here` ends the second
// run early, where encryption no longer makes a difference. When a script ends, everything the bot has sent to an
// encrypted room is checked as the homeserver stored it.
//
// The homeserver is Dendrite, or what MATRIX_TUI_HOMESERVER names (synapse). The line `# also on Synapse` makes a
// script of a Dendrite run play on Synapse, too, as NAME-on-synapse. `# only on Synapse: REASON` skips it on
// Dendrite. MATRIX_TUI_COLD=1 lets no agent wait for tasks in any script, except in those that say how many do, and
// skips those with a line `# only where agents wait: REASON`.
//
// Every wait has a deadline (60 s, verb `deadline`) that starts again whenever the script makes progress, and nothing
// sleeps for an effect. `expect` matches each message once, so the same words can be expected again. Verbs that mean
// "no more than" (`!expect`, `count`, `finals`) first wait until the bot's journal shows that it has finished
// everything sent to it, and then read the whole room from the homeserver.
//
// The verb `proxy` puts a proxy between the homeserver and the bot (people are not behind it) and makes it misbehave
// like a broken or hostile homeserver. Its first use comes before the bot's first start. METHOD-AND-PATH is an
// expression for requests written as "GET /_matrix/client/v3/sync", without the query; N is how many requests it
// affects. A TEXT may be <FILE, a file of the script. In texts and files ${alice} is a variable of the script and
// ${now} the time in milliseconds; everything else arrives byte by byte, duplicate keys included.
//
//	proxy on                                       only forward, for now
//	proxy inject ROOM FILE                         the next /sync has the events in FILE, separated by commas, in the room's timeline
//	proxy invite ROOM FILE                         the next /sync has an invitation to ROOM with the events in FILE as its invite_state
//	proxy rewrite N METHOD-AND-PATH REGEXP TEXT    in N answers that match, what matches REGEXP becomes TEXT, literally
//	proxy answer N STATUS TEXT METHOD-AND-PATH     answer N requests like this, in the homeserver's place
//	proxy delay N DURATION METHOD-AND-PATH         delay N requests by this time
//	proxy cut N METHOD-AND-PATH                    close the connection of N requests without an answer
//	proxy met                                      wait until all of that has happened
//
// An insert keeps the sync token, so nothing from the homeserver is lost. To insert into other answers, rewrite them:
// `proxy rewrite 1 '^GET .*/messages$' '"chunk":\[' <more.json`, where more.json begins with "chunk":[ too;
// '"device_keys":{"@alice:localhost":{' in answers to /keys/query adds a device. The verb `device` creates an unsigned
// device that can really receive keys. `refuse`, `refused`, `hold`, `held`, `release` and `deviceless` are verbs of the
// proxy as well.
//
// A request that the model refuses, as Google's API would, fails the script at once, unless the script said before,
// with `model-refuses REGEXP`, that it will come.
//
// The package never looks into the bot's memory, and shares no code with it except the names of containers.
package bottest
