package text

// Nearest returns the word of a list that a mistyped one most likely means: one with at most a third of its letters
// wrong, and no more than two; "" if there is none.
func Nearest(word string, list []string) string {
	best, least := "", 3
	for _, candidate := range list {
		if d := Distance(word, candidate); d < least && d*3 <= len(candidate) {
			best, least = candidate, d
		}
	}
	return best
}

// Distance counts the typing errors (a letter added, missing, replaced, or two swapped) between two names.
func Distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
