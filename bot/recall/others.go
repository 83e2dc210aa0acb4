package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/state/clean"
	"matrix-tui/state/memory"
)

const (
	// maxOthers is of how many other rooms the memory is searched.
	maxOthers = 5
	// mostOthers is how many of their entries a task is given.
	mostOthers = 3
)

// shared are the sources that an owner may open to another room. What was said is never among them.
var shared = []memory.Source{memory.SourceNote, memory.SourceAnswer, memory.SourceLog}

// addOthers adds what other rooms remember about a text, each entry with its room. An owner has allowed that in
// policy.yaml. A room that cannot be read is left out.
func (k *Known) addOthers(ctx context.Context, m *indexes, room, text string, vector memory.Vector, others []string) {
	var all []memory.Hit
	for _, other := range others[:min(len(others), maxOthers)] {
		if other == room {
			continue
		}
		err := m.use(ctx, other, writeTime, func(ctx context.Context, x *memory.Index) error {
			hits, err := x.Search(ctx, memory.Query{Text: text, Vector: vector, Max: 2 * mostOthers, Min: leastScore,
				Sources: shared, Person: memory.Nobody})
			for _, hit := range hits {
				hit.ID = other + " " + hit.ID
				all = append(all, hit)
			}
			return err
		})
		m.warn(ctx, other, "cannot search the memory of a room for another one", err)
	}
	slices.SortStableFunc(all, func(a, b memory.Hit) int { return cmp.Compare(b.Score, a.Score) })
	k.Retrieved = append(k.Retrieved, k.take(all, mostOthers, func(hit memory.Hit) string {
		other, _, _ := strings.Cut(hit.ID, " ")
		return fmt.Sprintf("the room %s, %s", clean.Line(other, 80), placed(hit))
	})...)
}

// readsFrom says of which other rooms a room uses the memory, "" if of none.
func readsFrom(room string, others []string) string {
	others = slices.DeleteFunc(slices.Clone(others), func(other string) bool { return other == room })
	if len(others) == 0 {
		return ""
	}
	return "Tasks here are also given what these rooms remember: `" +
		strings.Join(others[:min(len(others), maxOthers)], "`, `") +
		"`. An owner has set that in `policy.yaml` (`memory_from`).\n\n"
}
