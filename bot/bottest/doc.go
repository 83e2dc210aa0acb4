// Package bottest runs conversation scripts: testscript files that read like a
// chat, played against a real homeserver, real podman, the real Gemini CLI and a
// scripted model in the place of Google's.
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
// A verb does what a person would, through a client of the person's own. Each
// script has a bot account, a state folder, a model server and a podman service
// to itself, so all of them run side by side; the homeserver is shared. The table
// in verbs.go says what each verb does.
//
// A line `# also encrypted` in a script has it played a second time, as
// NAME-in-encrypted-rooms, with all its rooms encrypted; MATRIX_TUI_ENCRYPTED=1 has
// all scripts played like that. Whatever the bot sends to an encrypted room is
// looked at when a script ends, as the homeserver has it.
//
// Waiting: whatever waits has a deadline (60 s, verb `deadline`), and nothing
// sleeps for an effect. An `expect` takes each message once, so the same words
// may be expected again. What says "no more than" (`!expect`, `count`, `finals`)
// first waits until the bot has finished everything that was said to it, by the
// bot's own journal, and then asks the homeserver for the whole room.
//
// The package never looks into the bot's memory and shares no code with it but
// the names of containers.
package bottest
