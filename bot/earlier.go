package bot

import "matrix-tui/state"

// earlierLife are the events that this account has answered by messages which
// the journal knows nothing of, by their keys. It is empty but after a restore
// of the state folder from a copy: what came and was done since the copy comes
// once more, and must not be done again.
type earlierLife map[string]bool

// take notes a transaction of ours without a row, if it ended a row: a result, or
// what tell says.
func (l earlierLife) take(txn string) {
	switch key, kind, _ := state.KindOfTxn(txn); kind {
	case state.KindFinal, state.KindTooLarge, state.KindReply:
		l[key] = true
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
