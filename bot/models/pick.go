package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"matrix-tui/agent/gemini"
)

// maxTries bounds the models that one choice tries.
const maxTries = 12

// pick returns the first candidate that the key may use; last is the choice so far, "" for none. try generates one
// token. A quota per minute proves that the key may use a model. One that is merely busy does not stop being the
// choice, and becomes it only if nothing else answers. The error is a *gemini.Refusal.
func pick(ranked []candidate, last string, try func(model string) error) (name, why string, err error) {
	var busy *candidate
	var passed []string
	reason := func(c candidate) string {
		why := "the newest " + c.what() + " that the key may use"
		if len(passed) > 0 {
			why += "; not " + strings.Join(passed[:min(len(passed), 3)], ", ")
		}
		return why
	}
	for _, c := range ranked[:min(len(ranked), maxTries)] {
		err := try(c.name)
		var r *gemini.Refusal
		if err != nil && !errors.As(err, &r) {
			return "", "", err
		}
		switch {
		case err == nil, r.Kind == gemini.Quota && !r.PerDay && !r.None:
			return c.name, reason(c), nil
		case r.Kind == gemini.WrongKey, r.Kind == gemini.Region, r.Kind == gemini.Network:
			return "", "", err
		case r.Kind == gemini.Overload, r.Kind == gemini.Quota && !r.None:
			if c.name == last {
				return c.name, reason(c), nil
			}
			if busy == nil {
				busy = &c
			}
			passed = append(passed, c.name+" ("+short(r)+")")
		default:
			passed = append(passed, c.name+" ("+short(r)+")")
		}
	}
	switch {
	case busy != nil:
		return busy.name, "the only " + busy.what() + " left, although it is busy", nil
	case len(ranked) == 0:
		return "", "", &gemini.Refusal{Kind: gemini.NoModel, Message: "the API lists none of this kind"}
	}
	return "", "", &gemini.Refusal{Kind: gemini.NoModel, Message: "none that the API lists answers: " +
		strings.Join(passed, ", ")}
}

// short says in a few words why a model was passed over.
func short(r *gemini.Refusal) string {
	switch {
	case r.Kind == gemini.Quota && r.None:
		return "no quota"
	case r.Kind == gemini.Quota:
		return "daily quota used up"
	case r.Kind == gemini.Overload:
		return "overloaded"
	case r.Kind == gemini.NoModel:
		return "not available to the key"
	}
	return fmt.Sprintf("refused with %d", r.Status)
}

// Ask asks the API what auto, pro, flash or an alias means; last is what it has meant so far. note gets the result of
// each try. The error is a *gemini.Refusal, or of ctx.
func Ask(ctx context.Context, client *gemini.Client, setting, last string,
	note func(model string, err error)) (c Choice, err error) {
	listed, err := client.List(ctx)
	if err != nil {
		return c, err
	}
	if !isLine(setting) {
		return resolve(ctx, client, setting, last, listed)
	}
	c.Name, c.Why, err = pick(rank(listed, setting), last, func(model string) error {
		err := client.Try(ctx, model)
		note(model, err)
		return err
	})
	return c, err
}

// resolve returns what an alias means. The CLI knows models better by their own name, so that is used if it is listed.
func resolve(ctx context.Context, client *gemini.Client, alias, last string,
	listed []gemini.Model) (c Choice, err error) {
	version, err := client.Resolve(ctx, alias)
	var r *gemini.Refusal
	if errors.As(err, &r) && (r.Kind == gemini.Quota && !r.None || r.Kind == gemini.Overload) {
		version, err = last, nil
	}
	c = Choice{Name: alias, Why: "an alias of the API"}
	if slices.ContainsFunc(listed, func(m gemini.Model) bool { return m.Name == version && m.Generates() }) {
		c = Choice{Name: version, Why: "what the API's alias means now"}
	}
	return c, err
}
