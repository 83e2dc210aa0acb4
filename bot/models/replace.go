package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/agent/gemini"
	"matrix-tui/state/sentence"
)

// Replace says what becomes of a task whose model is no longer available: it continues with next, or fails with said.
func (m *Models) Replace(ctx context.Context, setting, gone string) (next, said string) {
	if !Moves(setting) {
		return "", m.named(ctx, gone)
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

// named says why a model that is set by name cannot be used, and which would work. It is "" if the model answers again.
func (m *Models) named(ctx context.Context, gone string) string {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	err := m.client.Try(ctx, gone)
	if err == nil {
		return ""
	}
	said := fmt.Sprintf("The model `%s`, which is set by name, cannot be used: %s.", gone, Reason(err))
	names, err := m.Usable(ctx, 3, gone)
	switch {
	case err != nil:
		return said
	case len(names) == 0:
		return said + " No other model that I know how to use answers either."
	}
	return said + " These answer: `" + strings.Join(names, "`, `") +
		"`. An owner can set one with `!model NAME`, or let me choose with `!model auto`; the operator can set GEMINI_MODEL."
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
