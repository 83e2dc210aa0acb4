// Package bottest runs conversation scripts: testscript files that read like a
// chat. They run against a real homeserver, real podman and the real Gemini CLI,
// with a scripted model instead of Google's.
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
// A verb does what a person would do, through that person's own client. The
// table in verbs.go lists the verbs. Each script has its own bot account, state
// directory, model server and podman service, so scripts run in parallel; they
// share the homeserver.
//
// The line `# also encrypted` makes a script run a second time, as
// NAME-in-encrypted-rooms, with all its rooms encrypted. MATRIX_TUI_ENCRYPTED=1
// does that for every script. When a script ends, everything the bot has sent to
// an encrypted room is checked as the homeserver stored it.
//
// Every wait has a deadline (60 s, verb `deadline`), and nothing sleeps for an
// effect. `expect` consumes each message once, so the same words can be expected
// again. Verbs that mean "no more than" (`!expect`, `count`, `finals`) first wait
// until the bot's journal shows that it has finished everything that was said to
// it, and then read the whole room from the homeserver.
//
// The package never looks into the bot's memory, and shares no code with it
// except the names of containers.
package bottest
