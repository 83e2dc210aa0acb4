package bottest

import (
	"context"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// verb is one word of the scripts.
type verb struct {
	name     string
	args     string // as a person writes them
	min, max int    // number of arguments; max -1 = any
	negates  bool   // may stand behind "!", also without a space
	do       func(ctx context.Context, sc *script, neg bool, args []string) error
}

// verbs is the whole language. ROOM, USER are names of the script's own; `bot`
// is the bot. Patterns are Go regular expressions. In arguments outside quotes
// $alice is the user ID, $den the room ID, $den_container the container's name,
// $den_workspace and $den_home its volumes, $state the state folder.
var verbs = []verb{
	// the bot
	{"start", "[KEY=VALUE…]", 0, -1, true, doStart},          // run it with these settings (they stay) until it is ready; !start: it must refuse, and stderr has what it says
	{"launch", "[KEY=VALUE…]", 0, -1, false, doLaunch},       // the same without waiting
	{"ready", "", 0, 0, false, doReady},                      // wait until the bot's log says ready
	{"bot-stop", "", 0, 0, false, doStop},                    // `stop`: SIGTERM, and it must end with code 0
	{"bot-kill", "", 0, 0, false, doKill},                    // `kill`: SIGKILL
	{"killat", "POINT", 1, 1, false, doKillAt},               // crash point of the next start; a running bot is restarted with it
	{"died", "", 0, 0, false, doDied},                        // wait until it has killed itself there
	{"failed", "", 0, 0, false, doFailed},                    // wait until it has ended by itself with an error; stderr has its log since its start
	{"logout-bot", "", 0, 0, false, doLogoutBot},             // the homeserver forgets the bot's token, as after a reset of its password
	{"token", "", 0, 0, false, doToken},                      // $token is an access token of the bot's account, of a session of its own
	{"deviceless", "", 0, 0, false, doDeviceless},            // from the next start, the homeserver tells the bot of no session behind its token
	{"reboot", "", 0, 0, false, doReboot},                    // bot and containers lose power, containers come back as podman-restart.service does it, then the bot
	{"log", "REGEXP", 1, 1, true, doLog},                     // the bot's log since its start has this
	{"logged", "REGEXP N", 2, 2, false, doLogged},            // exactly so many lines of it, when all is quiet
	{"memory-below", "MB", 1, 1, false, doMemory},            // resident memory of the bot
	{"matrix-tui", "ARGV…", 1, -1, true, doCLI},              // run a subcommand with the bot's settings
	{"quiet", "", 0, 0, false, doQuiet},                      // wait until the bot has finished all that was said to it
	{"in-line", "USER ROOM N PREFIX", 4, 4, false, doInLine}, // the bot, which must not run, has N more tasks of USER in line, PREFIX 1 … PREFIX N
	{"old-journal", "USER ROOM", 2, 2, false, doOldJournal},  // the bot, which must not run, gets a journal of a release before, about what USER has said in ROOM
	{"m-direct", "WHO ROOM", 2, 2, false, doDirect},          // another client of the account makes this its only direct chat
	{"profile", "NAME PICTURE", 2, 2, false, doProfile},      // what the bot's account is called, and the address of its picture
	{"set-profile", "NAME PICTURE", 2, 2, false, doSetProfile},

	// releases
	{"releases", "[BRANCH…]", 0, -1, false, doReleases},    // the bot runs from a folder of releases, $base, with a git remote as its source: main is newer than base by a commit; what is named (see changes) is built beforehand; $release_BRANCH are their names, $key is what tags are signed with
	{"shelf", "BRANCH…", 1, -1, false, doShelf},            // before install: the machine's bot has a folder with archives of these branches as its source
	{"runs", "BRANCH", 1, 1, false, doRuns},                // wait until the release of that branch has the state folder
	{"same-pid", "", 0, 0, false, doSamePID},               // it is the process that was started
	{"all-died", "", 0, 0, false, doAllDied},               // wait until nothing runs from $base: what brings the old release back has killed itself at the point of killat
	{"powercut", "", 0, 0, false, doPowerCut},              // everything that runs from $base is killed at once
	{"releases-disk", "SIZE", 1, 1, false, doReleasesDisk}, // before `releases`: $base is a file system of its own; later: its size is another one

	// people
	{"user", "NAME… [unsigned]", 1, -1, false, doUser},             // with a cross-signing identity that has signed the device; unsigned: without one
	{"device", "NAME USER", 2, 2, false, doDevice},                 // another device of USER, which may be written like a user; nobody has signed it, as if the homeserver had invented it
	{"room", "ROOM USER… [encrypted|clear]", 2, -1, false, doRoom}, // the first one makes it, the others are invited and join; clear: also where the script is played in encrypted rooms
	{"invite", "USER ROOM WHO", 3, 3, false, doInvite},
	{"join", "USER ROOM", 2, 2, false, doJoin},
	{"leave", "USER ROOM", 2, 2, false, doLeave},
	{"kick", "USER ROOM WHO", 3, 3, false, doKick},
	{"power", "USER ROOM WHAT LEVEL", 4, 4, false, doPower},    // WHAT is somebody, a type of event, or a level with a name such as events_default
	{"tombstone", "USER ROOM OTHER", 3, 3, false, doTombstone}, // the room says that it goes on in OTHER, which says no such thing
	{"upgrade", "USER ROOM NEW", 3, 3, false, doUpgrade},       // the room gets a tombstone, NEW is its successor
	{"say", "USER ROOM TEXT", 3, 3, false, doSay},
	{"say-file", "USER ROOM FILE", 3, 3, true, doSayFile},        // the file's text, its last newline cut
	{"say-json", "USER ROOM JSON", 3, 3, true, doSayJSON},        // the text as a JSON string: for what a script cannot hold; ! for both: the homeserver refuses it
	{"say-unheard", "USER ROOM TEXT", 3, 3, false, doSayUnheard}, // what the bot is not to take: nothing waits for it to be finished
	{"say-clear", "USER ROOM TEXT", 3, 3, false, doSayClear},     // the same in clear, also in an encrypted room
	{"notice", "USER ROOM TEXT", 3, 3, false, doNotice},
	{"hostile", "USER ROOM N", 3, 3, false, doHostile},    // N events that make no sense
	{"flood", "USER ROOM N PREFIX", 4, 4, false, doFlood}, // PREFIX 1 … PREFIX N as fast as the server takes them
	{"replyto", "USER ROOM REGEXP TEXT", 4, 4, false, doReplyTo},
	{"old-reply", "USER ROOM REGEXP TEXT", 4, 4, false, doOldReply},      // with the message before the text, as older clients do
	{"thread", "USER ROOM REGEXP TEXT", 4, 4, false, doThread},           // in the thread of the newest message that fits
	{"threaded", "USER ROOM REGEXP ROOT", 4, 4, true, doThreaded},        // the newest message that fits stands in the thread of ROOT
	{"misreply", "USER ROOM OTHER REGEXP TEXT", 5, 5, false, doMisreply}, // in ROOM, a reply to a message of the room OTHER
	{"react", "USER ROOM REGEXP KEY", 4, 4, false, doReact},
	{"edit", "USER ROOM REGEXP TEXT", 4, 4, false, doEdit},
	{"redact", "USER ROOM REGEXP", 3, 3, false, doRedact},
	{"upload", "USER ROOM FILE", 3, 3, false, doUpload},
	{"encrypt", "USER ROOM", 2, 2, false, doEncrypt},                   // the room becomes an encrypted one
	{"keys", "USER hold|release", 2, 2, false, doKeys},                 // USER's client does not send its keys for encrypted rooms; release: sends them late
	{"verify", "USER [ROOM]", 1, 2, true, doVerify},                    // USER verifies the bot, by messages in ROOM as Element does it in a direct chat; the bot's log tells the emojis that USER sees; !verify: the bot does not answer
	{"cleartext", "ROOM REGEXP", 2, 2, true, doCleartext},              // the homeserver has seen this, in an event of the room, a file or anywhere else; !cleartext: never
	{"file-has", "USER ROOM REGEXP", 3, 3, false, doFileHas},           // the newest file of somebody else holds this, once it is decrypted where the room is encrypted
	{"parcel", "USER ROOM FILE KIND [CAPTION]", 4, 5, false, doParcel}, // voice, sticker, gone (the server does not have it), or - for what its name says

	// what they see; the line goes to stdout
	{"expect", "USER ROOM REGEXP [TIMEOUT]", 3, 4, true, doExpect},       // anything somebody else says, each message once; !expect: nobody has ever said it
	{"final", "USER ROOM REGEXP [TIMEOUT]", 3, 4, true, doFinal},         // the same for the bot's results: text, not edited, in reply to a task, and no question
	{"question", "USER ROOM REGEXP [TIMEOUT]", 3, 4, true, doQuestion},   // a question of the bot's, each once: text, in reply to a task, and it mentions who gave that and nobody else
	{"overdue", "ROOM…", 1, -1, false, doOverdue},                        // wait until the time of what waits in the rooms is over, whether the bot runs or not
	{"pinned", "USER ROOM REGEXP", 3, 3, false, doPinned},                // an execution of the room waits for the answer to this message
	{"reactions", "USER ROOM REGEXP KEY…", 3, -1, false, doReactions},    // what the bot has put on the newest message that fits, exactly and in this order, when all is quiet
	{"linked", "USER ROOM REGEXP TARGET [OTHER]", 4, 5, false, doLinked}, // the newest message that fits has a matrix.to link to the newest that fits TARGET, in the room OTHER where that is another one
	{"anchored", "USER ROOM", 2, 2, false, doAnchored},                   // all that the bot replies to, edits, reacts to or takes back in the room stands in this very room, when all is quiet
	{"pings", "USER ROOM WHO…", 2, -1, false, doPings},                   // the people whom all messages of the bot in the room mention together, when all is quiet
	{"expect-order", "USER ROOM REGEXP…", 3, -1, false, doExpectOrder},   // finals that come in this order
	{"count", "USER ROOM REGEXP N", 4, 4, false, doCount},                // exactly so many messages of others, edits aside, when all is quiet
	{"finals", "USER ROOM N", 3, 3, false, doFinals},                     // exactly so many finals when all is quiet, none of them twice for one task
	{"reacted", "USER ROOM REGEXP KEY", 4, 4, false, doReacted},          // the bot has put KEY on the newest message that fits, now or before
	{"read", "USER ROOM REGEXP", 3, 3, true, doRead},                     // the bot's read receipt covers the newest message that fits; !read: it has never stood on it
	{"typing", "USER ROOM [TIMEOUT]", 2, 3, true, doTyping},              // the bot types; !typing: it no longer does
	{"joined", "USER ROOM WHO [TIMEOUT]", 3, 4, true, doJoined},          // WHO is in the room; !joined: is out
	{"mentioned", "USER ROOM REGEXP", 3, 3, true, doMentioned},           // a message that fits mentions USER
	{"html", "USER ROOM REGEXP", 3, 3, true, doHTML},                     // formatted body of any message of others
	{"download", "USER ROOM REGEXP FILE", 4, 4, false, doDownload},       // a file somebody else has sent, each once, into FILE; its kind and name go to stdout
	{"content", "USER ROOM REGEXP", 3, 3, false, doContent},              // the newest message that fits, as JSON to stdout

	{"edit-pace", "USER ROOM DURATION", 3, 3, false, doEditPace}, // edits of one notice come no faster while it works; its last one is the result's

	// the container
	{"in-container", "ROOM ARGV…", 2, -1, true, doInContainer},
	{"podman", "ARGV…", 1, -1, true, doPodman},
	{"podman-service", "stop|start", 1, 1, false, doPodmanService},
	{"gemini-running", "ROOM", 1, 1, true, doGeminiRunning}, // wait until Gemini runs in the container; !gemini-running: until it does not
	{"process", "ROOM", 1, 1, false, doProcess},             // remember the Gemini process that runs in the container
	{"same-process", "ROOM", 1, 1, false, doSameProcess},    // it is still that one
	{"container", "ROOM", 1, 1, false, doContainer},         // remember the container's ID
	{"same-container", "ROOM", 1, 1, true, doSameContainer}, // it is still that one

	// the model
	{"model", "FILE", 1, 1, false, doModel},
	{"model-saw", "REGEXP", 1, 1, true, doModelSaw},        // sent since the last model-saw; !model-saw: in the whole script
	{"model-count", "REGEXP N", 2, 2, false, doModelCount}, // number of requests of the script whose newest user text fits

	// the bot's HTTP interface (start API_LISTEN=0); $den, $bot and $ID, the last session ID seen, stand in paths and bodies, also in quotes
	{"http", "METHOD PATH [BODY [HEADER…]]", 2, -1, false, doHTTP},  // with the bot's token; status and body go to stdout; 'Authorization:' takes the token away
	{"http-wait", "PATH REGEXP [TIMEOUT]", 2, 3, false, doHTTPWait}, // GET until the body fits

	// the host
	{"homeserver", "own|stop|start", 1, 1, false, doHomeserver},
	{"proxy", "on|inject|invite|rewrite|answer|delay|cut|met …", 1, -1, false, doProxy}, // the homeserver, as the bot sees it, goes wrong: see doc.go; the first one before the bot's first start
	{"refuse", "N STATUS ERRCODE REGEXP", 4, 4, false, doRefuse},                        // the same as `proxy answer`, with this errcode
	{"refused", "", 0, 0, false, doRefused},                                             // the same as `proxy met`
	{"hold", "REGEXP", 1, 1, false, doHold},                                             // the bot's requests whose method and path fit wait from now on; the first one before the bot's first start
	{"held", "N", 1, 1, false, doHeld},                                                  // wait until N of them do, never more
	{"release", "", 0, 0, false, doRelease},                                             // they go on
	{"machine", "[clone|qemu [SUITE]]", 0, 2, false, doMachine},                         // a bare host with systemd, Debian 12 or the SUITE; its bot is installed by `install`, from a release or a clone, $home is its folder, $port is free
	{"install", "[OPTION…] [KEY=VALUE…]", 0, -1, true, doInstall},                       // deploy/install there, with the script's settings and these as answers
	{"on-machine", "ARGV…", 1, -1, true, doOnMachine},                                   // run a command there as root
	{"machine-power", "off|on", 1, 1, false, doMachinePower},                            // take the power from it, and give it back; it waits until all is up
	{"statedir", "tmpfs SIZE", 2, 2, false, doStateDir},                                 // the state folder on a file system of its own
	{"policy", "FILE|none", 1, 1, false, doPolicy},                                      // policy.yaml; without it, the bot answers all that is said to it
	{"pair", "OWNER ROOM WHO THEIRS", 4, 4, false, doPair},                              // OWNER accepts in ROOM the code that WHO got in THEIRS
	{"statefile", "truncate-half|readonly|writable|fill|free|resize [SIZE]", 1, 2, false, doStateFile},
	{"state", "PATH REGEXP", 2, 2, true, doState},       // a value in state.json: .containers[den]
	{"given-up", "ROOM REGEXP", 2, 2, false, doGivenUp}, // the bot's books have a message that it will never send: its type, content and why
	{"execution", "ROOM N", 2, 2, false, doExecution},   // $ID is the session ID of the room's execution N, from 0; negative from the end
	{"deadline", "DURATION", 1, 1, false, doDeadline},
}

// commands makes testscript commands of the verbs.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){}
	for _, v := range verbs {
		cmds[v.name] = v.run
		if v.negates {
			cmds["!"+v.name] = func(ts *testscript.TestScript, _ bool, args []string) { v.run(ts, true, args) }
		}
	}
	return cmds
}

func (v verb) run(ts *testscript.TestScript, neg bool, args []string) {
	sc := ts.Value(scriptKey{}).(*script)
	sc.ts = ts
	if len(args) < v.min || (v.max >= 0 && len(args) > v.max) {
		ts.Fatalf("usage: %s %s", v.name, v.args)
	}
	if neg && !v.negates {
		ts.Fatalf("%s cannot be negated", v.name)
	}
	wait := sc.wait
	if v.max == len(args) && v.max > v.min { // the last optional argument is a deadline
		if d, err := time.ParseDuration(args[len(args)-1]); err == nil {
			wait, args = d, args[:len(args)-1]
		}
	}
	ctx, cancel := sc.timeout(wait)
	defer cancel()
	if err := v.do(ctx, sc, neg, args); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		ts.Fatalf("%s: %v", v.name, err)
	}
}

func doDeadline(_ context.Context, sc *script, _ bool, args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return fmt.Errorf("no duration: %w", err)
	}
	sc.wait = d
	return nil
}
