package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/sandbox/gateway/gemini"
	"matrix-tui/state/sentence"
)

// Replace says what becomes of a task whose model is no longer available: it continues with next, or fails with said.
func (m *Models) Replace(ctx context.Context, setting, gone string) (next, said string) {
	if !Moves(setting) {
		return "", fmt.Sprintf("The model `%s`, which is set by name, is not available to the key.%s", gone, m.others(ctx, gone))
	}
	c, err := m.find(ctx, setting, gone)
	switch {
	case err != nil:
		return "", fmt.Sprintf("The model `%s` stopped answering. %s", gone, sentence.Text(unchosen(err)))
	case c.Name == gone: // it answers again
		return "", ""
	}
	return c.Name, ""
}

// others says which models would work.
func (m *Models) others(ctx context.Context, gone string) string {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	names, err := m.Usable(ctx, 3, gone)
	switch {
	case err != nil:
		return ""
	case len(names) == 0:
		return " No other model that I know how to use answers either."
	}
	return " These answer: `" + strings.Join(names, "`, `") + "`. An owner can set one with `!model NAME`, or let me choose with `!model auto`; the operator can set GEMINI_MODEL."
}

// Usable returns the best models, at most as many as most, that the key may use, without those in except. It tries each
// that is not in use.
func (m *Models) Usable(ctx context.Context, most int, except ...string) (names []string, err error) {
	listed, err := m.client.List(ctx)
	if err != nil {
		return nil, err
	}
	tried := 0
	for _, c := range rank(listed, Auto) {
		if len(names) == most || tried == maxTries || ctx.Err() != nil {
			break
		}
		if slices.Contains(except, c.name) {
			continue
		}
		tried++
		var r *gemini.Refusal
		if err := m.client.Try(ctx, c.name); err == nil || errors.As(err, &r) && r.Passes() {
			names = append(names, c.name)
		}
	}
	return names, nil
}
