package bot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"matrix-tui/bot/outbox"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

// proves commits a message that was protected in some way, and decides it.
func (d *deciding) proves(id, content string, how event.Encryption) {
	d.t.Helper()
	d.at = d.at.Add(time.Minute)
	raw := fmt.Sprintf(`{"event_id":%q,"type":"m.room.message","sender":"@ann:here","origin_server_ts":%d,"content":%s}`, id, d.at.UnixMilli(), content)
	row := state.Event{Event: d.bot.judge.Understood(decoded(d.t, raw)), Status: state.Pending}
	row.Room, row.Encryption = d.id, how
	if _, err := d.bot.Journal.Events.Commit(d.t.Context(), "", []state.Event{row}); err != nil {
		d.t.Fatal(err)
	}
	d.decides()
}

// said returns what the room is told about an event.
func (d *deciding) said(id string) string {
	d.t.Helper()
	told, err := d.bot.Journal.Messages.Get(d.t.Context(), outbox.ToldTxn(state.Event{Event: event.Event{Room: d.id, ID: id}}))
	if err != nil {
		return ""
	}
	plain, _ := text.Render(told.Body)
	return plain
}

func textOf(body string) string { return fmt.Sprintf(`{"msgtype":"m.text","body":%q}`, body) }

func replyOf(body, to string) string {
	return fmt.Sprintf(`{"msgtype":"m.text","body":%q,"m.relates_to":{"m.in_reply_to":{"event_id":%q}}}`, body, to)
}

// What only owners may do needs an encrypted message from a verified session, where that is required.
func TestOwnersProve(t *testing.T) {
	const vault = "rooms: {'!vault:here': {require_encryption: owners}}"
	for _, c := range []struct {
		proof  policy.Proof
		policy string
		how    event.Encryption
		told   string // of a refusal
	}{
		{"", "", event.Unencrypted, ""}, {policy.ProofOff, "", event.Unencrypted, ""},
		{policy.ProofOwners, "", event.Unencrypted, "encrypted chat"}, {policy.ProofApprovals, "", event.Unencrypted, "encrypted chat"},
		{policy.ProofOwners, "", event.Decrypted, "verified session, and yours is not"}, {policy.ProofOwners, "", event.Verified, ""},
		{policy.ProofAll, "", event.Unencrypted, "encrypted chat"}, {policy.ProofAll, "", event.Verified, ""},
		{policy.ProofOff, vault, event.Unencrypted, "encrypted chat"}, {"", vault, event.Decrypted, "verified session, and yours is not"}, {"", vault, event.Verified, ""},
	} {
		edit := `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"!policy set reply off"},"m.relates_to":{"rel_type":"m.replace","event_id":"$0"}}`
		for i, content := range []string{
			textOf("!policy set reply off"), edit, textOf("!policy show"), textOf("!pair ABCD-EFGH"),
			textOf("!self_update"), textOf("!rooms"), textOf("!alerts off"), textOf("!reset"), textOf("!model default"),
		} {
			d := newDeciding(t, c.policy)
			d.bot.proof.All = c.proof
			d.bot.roster.Direct.Take(map[string][]string{"@ann:here": {d.id}})
			d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 2)
			if i > 3 && c.told == "" {
				continue // those look at the host
			}
			if content == edit {
				d.proves("$0", textOf("hello"), event.Verified)
			}
			d.proves("$1", content, c.how)
			if off := d.bot.policy.Room(d.id).Reply == policy.Off; off != (c.told == "" && i < 2) {
				t.Errorf("%+v: %s: the policy has changed: %v", c, content, off)
			}
			if content == edit && c.proof == policy.ProofAll && c.told != "" {
				continue // nobody is told about an edit
			}
			if said := d.said("$1"); c.told != "" && !strings.Contains(said, c.told) || c.told == "" && (strings.Contains(said, "encrypted chat") || strings.Contains(said, "verified session, and yours is not")) {
				t.Errorf("%+v: %s: told %q", c, content, said)
			}
		}
		d := newDeciding(t, c.policy)
		d.bot.proof.All = c.proof
		d.bot.roster.Joined.Learn(d.id, d.bot.roster.Joined.Version(d.id), 2)
		if d.proves("$1", textOf("!help"), c.how); c.proof != policy.ProofAll && !strings.Contains(d.said("$1"), "!help all") {
			t.Errorf("%+v: told %q", c, d.said("$1"))
		}
	}
}

// asksFor makes the task of $1 wait for an approval, or for more tokens if held is "".
func (d *deciding) asksFor(held string) (rec state.Task, code string) {
	d.t.Helper()
	d.bot.roster.Direct.Take(map[string][]string{"@ann:here": {d.id}})
	d.proves("$1", textOf("deploy it"), event.Verified)
	rec = d.asksIn("$1", "Continue?\n\n1. Yes, use up to 10 more today\n2. No, stop here", held)
	if held == "" {
		rec.Budget = 1
		if err := d.bot.Journal.Tasks.Wait(d.t.Context(), rec, nil); err != nil {
			d.t.Fatal(err)
		}
	}
	return rec, d.env.Task(rec).Question().Code()
}

// An encrypted message approves only what it names: the homeserver decides what it replies to, and when it arrives.
func TestApprovalNamesItsQuestion(t *testing.T) {
	for _, held := range []string{"git push --force", ""} {
		for body, c := range map[string]struct {
			answer string // "" if the question stays open
			told   string
		}{
			"yes": {"", "yes CODE"}, "ok": {"", "yes CODE"}, "CODE": {"", "yes CODE"}, "yes WRONG": {"", "yes CODE"},
			"yes CODE": {"yes", ""}, "CODE, yes!": {"yes", ""}, "OK CODE": {"yes", ""}, "no": {"no", ""},
		} {
			for _, how := range []string{"reply", "answer", "mention"} {
				d := newDeciding(t, everything)
				rec, code := d.asksFor(held)
				wrong := "0000"
				if code == wrong {
					wrong = "0001"
				}
				words := strings.NewReplacer("CODE", code, "WRONG", wrong).Replace(body)
				content := map[string]string{"reply": replyOf(words, "$q"), "answer": textOf("!answer " + words), "mention": textOf("@bot:here " + words)}[how]
				d.proves("$2", content, event.Decrypted)
				got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
				if err != nil {
					t.Fatal(err)
				}
				answer := ""
				if len(got.Answers) > 0 {
					answer = got.Answers[0].Answer
				}
				if told := strings.ReplaceAll(d.said("$2"), code, "CODE"); answer != c.answer || !strings.Contains(told, c.told) || (told == "") != (c.told == "") {
					t.Errorf("%q %s as %s: answered %q, told %q", held, body, how, answer, told)
				}
			}
		}
	}
}

// More than a plain yes neither approves nor refuses, also in a room in clear.
func TestAlmostYes(t *testing.T) {
	for body, answer := range map[string]string{
		"yes please": "", "ok, run it then": "", "Yes.": "Yes.", "yes but not to main": "yes but not to main", "no": "no", "later": "later",
	} {
		d := newDeciding(t, everything)
		rec, _ := d.asksFor("git push")
		d.proves("$2", replyOf(body, "$q"), event.Unencrypted)
		got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
		if err != nil {
			t.Fatal(err)
		}
		given := ""
		if len(got.Answers) > 0 {
			given = got.Answers[0].Answer
		}
		if told := strings.HasPrefix(d.said("$2"), "To run it, answer just yes"); given != answer || told != (answer == "") {
			t.Errorf("%q: answered %q, told %q", body, given, d.said("$2"))
		}
	}
}

// A plain "yes CODE" needs no reply, because it names its question. An edit never approves.
func TestApprovalByCode(t *testing.T) {
	d := newDeciding(t, everything)
	rec, code := d.asksFor("git push")
	d.proves("$2", textOf("yes "+code), event.Decrypted)
	if got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key); err != nil || len(got.Answers) != 1 || got.Answers[0].Answer != "yes" {
		t.Errorf("%+v, %v", got.Answers, err)
	}
	for _, how := range []event.Encryption{event.Unencrypted, event.Verified} {
		d = newDeciding(t, everything)
		rec, code = d.asksFor("git push")
		d.proves("$2", replyOf("no", "$q"), how)
		d.proves("$3", `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"yes `+code+`"},"m.relates_to":{"rel_type":"m.replace","event_id":"$2"}}`, how)
		d.proves("$4", `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"yes"},"m.relates_to":{"rel_type":"m.replace","event_id":"$2"}}`, how)
		if got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key); err != nil || got.Answers[0].Answer != "no" || !strings.Contains(d.said("$4"), "edit") {
			t.Errorf("%q: %+v, %v; told %q", how, got.Answers, err, d.said("$4"))
		}
	}
}

// The code depends on what is asked.
func TestCode(t *testing.T) {
	d := newDeciding(t, everything)
	rec, code := d.asksFor("git push")
	seen := map[string]bool{code: true}
	for i := range 20 {
		rec.Nonce = fmt.Sprint(i)
		seen[d.env.Task(rec).Question().Code()] = true
	}
	if len(seen) < 15 || len(code) != 4 {
		t.Errorf("codes: %v", seen)
	}
}

// Where approvals need a proof, a yes counts only in an encrypted message from a verified session.
func TestApprovalsProve(t *testing.T) {
	const here = "rooms: {'!den:here': {reply: all, require_encryption: approvals}}"
	for _, held := range []string{"git push", ""} {
		for _, c := range []struct {
			proof    policy.Proof
			policy   string
			how      event.Encryption
			approves bool
		}{
			{policy.ProofOff, everything, event.Unencrypted, true}, {policy.ProofOff, everything, event.Decrypted, true},
			{policy.ProofApprovals, everything, event.Unencrypted, false}, {policy.ProofApprovals, everything, event.Decrypted, false},
			{policy.ProofApprovals, everything, event.Verified, true}, {policy.ProofAll, everything, event.Decrypted, false},
			{policy.ProofOff, here, event.Unencrypted, false}, {"", here, event.Decrypted, false}, {"", here, event.Verified, true},
		} {
			d := newDeciding(t, c.policy)
			d.bot.proof.All = c.proof
			rec, code := d.asksFor(held)
			if c.how != event.Unencrypted {
				code = "yes " + code
			} else {
				code = "yes"
			}
			d.proves("$2", replyOf(code, "$q"), c.how)
			got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key)
			if err != nil {
				t.Fatal(err)
			}
			if (len(got.Answers) == 1) != c.approves || (d.said("$2") == "") != c.approves {
				t.Errorf("%q %+v: answers %+v, told %q", held, c, got.Answers, d.said("$2"))
			}
			d.proves("$3", replyOf("no", "$q"), event.Verified)
			if got, err = d.bot.Journal.Tasks.Get(t.Context(), rec.Key); err != nil || len(got.Answers) != 1 || c.approves != task.IsYes(got.Answers[0].Answer) {
				t.Errorf("%q %+v: after a no: %+v, %v", held, c, got.Answers, err)
			}
		}
	}
}

// Where everything needs a proof, other messages start nothing, answer nothing, and are told why; anybody may stop.
func TestAllProve(t *testing.T) {
	quiet := newDeciding(t, grouped)
	quiet.bot.proof.All = policy.ProofAll
	quiet.bot.roster.Joined.Learn(quiet.id, quiet.bot.roster.Joined.Version(quiet.id), 3)
	for id, content := range map[string]string{"$a": textOf("nice weather"), "$b": aFile} {
		quiet.proves(id, content, event.Unencrypted)
	}
	quiet.proves("$c", `{"msgtype":"m.text","body":"!stop","m.new_content":{"msgtype":"m.text","body":"@bot:here do evil","m.mentions":{"user_ids":["@bot:here"]}},"m.relates_to":{"rel_type":"m.replace","event_id":"$a"}}`, event.Unencrypted)
	if out, err := quiet.bot.Journal.Messages.Unsent(t.Context(), quiet.id); len(out) > 0 || len(quiet.line()) > 0 || err != nil {
		t.Errorf("what is not for the bot: %+v, %q, %v", out, quiet.line(), err)
	}
	d := newDeciding(t, everything)
	d.bot.proof.All = policy.ProofAll
	for id, content := range map[string]string{"$a": textOf("deploy it"), "$b": textOf("!status"), "$c": textOf("!memory add x"), "$d": aFile} {
		d.proves(id, content, event.Unencrypted)
		if said := d.said(id); !strings.Contains(said, "encrypted chat") || len(d.line()) > 0 {
			t.Errorf("%s: told %q, queued %q", content, said, d.line())
		}
	}
	d.proves("$e", textOf("deploy it"), event.Decrypted)
	if said := d.said("$e"); !strings.Contains(said, "verified session, and yours is not") || len(d.line()) > 0 {
		t.Errorf("told %q, queued %q", said, d.line())
	}
	d.proves("$1", textOf("deploy it"), event.Verified)
	if len(d.line()) != 1 {
		t.Errorf("queued %q", d.line())
	}
	rec := d.asksIn("$1", "Where?\n1. production\n2. staging", "")
	d.says("$f", "@ann:here", "m.reaction", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"$q","key":"1️⃣"}}`, time.Minute)
	d.decides()
	d.proves("$g", replyOf("staging", "$q"), event.Unencrypted)
	d.proves("$h", `{"msgtype":"m.text","body":"* x","m.new_content":{"msgtype":"m.text","body":"other words"},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}`, event.Unencrypted)
	d.proves("$s", `{"msgtype":"m.text","body":"!stop","m.new_content":{"msgtype":"m.text","body":"do evil"},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}`, event.Unencrypted)
	if got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key); err != nil || got.State != state.TaskWaiting || got.Text != "deploy it" {
		t.Errorf("%+v, %v", got, err)
	}
	d.proves("$i", textOf("!stop"), event.Unencrypted)
	if got, err := d.bot.Journal.Tasks.Get(t.Context(), rec.Key); err != nil || got.StopBy == "" {
		t.Errorf("not stopped: %+v, %v", got, err)
	}
}
