package bot

import (
	"regexp"

	"matrix-tui/state"
)

// earlierLife are the events that this account has answered by messages which
// the journal knows nothing of, by their keys. It is empty but after a restore
// of the state folder from a copy: what came and was done since the copy comes
// once more, and must not be done again.
type earlierLife map[string]bool

// endTxn is the transaction of a message that ends a row: a result, or what tell
// says.
var endTxn = regexp.MustCompile(`^([0-9a-f]+)-[af]`)

// take notes a transaction of ours without a row.
func (l earlierLife) take(txn string) {
	if m := endTxn.FindStringSubmatch(txn); m != nil {
		l[m[1]] = true
	}
}

// archive takes the rows that were answered out of the work.
func (l earlierLife) archive(rows []state.Inbound) {
	for i := range rows {
		if rows[i].Status == state.Pending && l[taskKey(rows[i])] {
			rows[i].Status = state.Archived
		}
	}
}
