package state

import (
	"regexp"
	"strconv"
	"strings"
)

// txnKinds maps the suffixes of transaction IDs to kinds. The first group is the number.
var txnKinds = []struct {
	end  *regexp.Regexp
	kind Kind
}{
	{regexp.MustCompile(`^n([0-9]*)$`), KindNotice},
	{regexp.MustCompile(`^n([0-9]*)-e$`), KindNoticeEdit},
	{regexp.MustCompile(`^f([0-9]+)$`), KindFinal},
	{regexp.MustCompile(`^f([0-9]+)-s$`), KindTooLarge},
	{regexp.MustCompile(`^q([0-9]+)$`), KindQuestion},
	{regexp.MustCompile(`^q([0-9]+)-[0-9]+$`), KindQuestionPart},
	{regexp.MustCompile(`^q([0-9]+)-r[0-9]+$`), KindOption},
	{regexp.MustCompile(`^q([0-9]+)-w$`), KindReminder},
	{regexp.MustCompile(`^q([0-9]+)-e$`), KindQuestionEdit},
	{regexp.MustCompile(`^choice$`), KindQuestionEdit},
	{regexp.MustCompile(`^q[0-9]+-r[0-9]+-x$`), KindRedaction},
	{regexp.MustCompile(`^choice-x$`), KindRedaction},
	{regexp.MustCompile(`^(?:queued|eyes|end)$`), KindReaction},
	{regexp.MustCompile(`^(?:queued|eyes|end)-x$`), KindRedaction},
	{regexp.MustCompile(`^t$`), KindArrival},
	{regexp.MustCompile(`^(?:i[0-9a-f]+|or|ol)$`), KindFileNote},
	{regexp.MustCompile(`^a$`), KindReply},
	{regexp.MustCompile(`^u$`), KindUnreadable},
	{regexp.MustCompile(`^(?:u[0-9]+|updated)$`), KindUpdate},
	{regexp.MustCompile(`^g$`), KindGreeting},
	{regexp.MustCompile(`^keyless$`), KindMissingKey},
	{regexp.MustCompile(`^(?:code|paired)$`), KindPairing},
	{regexp.MustCompile(`^lost$`), KindLost},
}

// KindOfTxn derives a message's kind and number, and the key of its task or event, from
// its transaction ID. Use it only for echoes of messages that the journal does not know.
// An unknown suffix counts as KindReply.
func KindOfTxn(txn string) (key string, kind Kind, number int) {
	key, end, ok := strings.Cut(txn, "-")
	if !ok {
		return "", KindFile, 0 // the ID of a file depends on its content
	}
	for _, one := range txnKinds {
		m := one.end.FindStringSubmatch(end)
		if m == nil {
			continue
		}
		if len(m) > 1 {
			number, _ = strconv.Atoi(m[1]) // "" is 0
		}
		return key, one.kind, number
	}
	return "", KindReply, 0
}
