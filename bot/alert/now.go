package alert

import "context"

// Now describes the state of the host in one sentence, as Standing does, and each alert that is open, in Markdown.
func (w *Watch) Now(ctx context.Context) (all string, open []string) {
	readings := w.read(ctx)
	var kept alerts
	if w.mu.TryLock() { // otherwise somebody is being told, which may take long
		kept = *w.load()
		w.mu.Unlock()
	}
	return standing(readings), kept.open(readings)
}

// open returns what is short, what was reported and is not well yet, and the notes that nobody has yet.
func (a alerts) open(readings []reading) (lines []string) {
	for _, r := range readings {
		told := a.Told[r.kind]
		if !r.low && (r.well || !told.Open) {
			continue
		}
		line := alertText([]reading{r}, nil)
		if told.Open {
			line += " The owners were told on " + told.At.UTC().Format("2 January 2006, 15:04 MST") + "."
		}
		lines = append(lines, line)
	}
	return append(lines, a.Notes...)
}
