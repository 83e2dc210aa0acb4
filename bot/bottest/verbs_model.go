package bottest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"matrix-tui/agent/agenttest"

	"matrix-tui/bot/bottest/host"
)

func doModel(_ context.Context, sc *script, _ bool, args []string) error {
	rules, err := agenttest.Load([]byte(strings.ReplaceAll(sc.ts.ReadFile(args[0]), "${api_key}", sc.key)))
	if err != nil {
		return err
	}
	sc.model.SetScript(rules)
	return nil
}

func doModelSaw(ctx context.Context, sc *script, neg bool, args []string) error {
	re, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	if neg {
		for _, r := range sc.model.Requests() {
			if found := re.FindString(r.Text); found != "" {
				return fmt.Errorf("the model was sent %q", cut(found, 300))
			}
		}
		return nil
	}
	newest := sc.mark
	err = host.Poll(ctx, func() (bool, error) {
		for _, r := range sc.model.Requests() {
			if r.Seq <= sc.mark {
				continue
			}
			newest = max(newest, r.Seq)
			if re.MatchString(r.Text) {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("nothing that the model was sent fits %q: %w", args[0], err)
	}
	sc.mark = newest
	return nil
}

// doModelCount counts the requests that contain a person's message as something new, not the rounds after a tool's
// result.
func doModelCount(_ context.Context, sc *script, _ bool, args []string) error {
	re, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	got := 0
	for _, r := range sc.model.Requests() {
		if r.Tool == "" && !r.JSON && re.MatchString(r.User) {
			got++
		}
	}
	if sc.drill != nil && sc.drill.cut > 0 {
		// The CLI asks again if the bot dies while an answer is on its way through the gateway.
		want, err := strconv.Atoi(args[1])
		if err == nil && got > want && got <= want+sc.drill.cut {
			got = want
		}
	}
	return differs("matching requests", got, args[1])
}

// doModelRefuses says what the model will refuse.
func doModelRefuses(_ context.Context, sc *script, _ bool, args []string) error {
	re, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	sc.refused = append(sc.refused, re)
	return nil
}

// checkRefused fails a script in which the agent sent what Google refuses, even if the bot got over that.
func (sc *script) checkRefused() error {
	for _, r := range sc.model.Requests() {
		known := func(re *regexp.Regexp) bool { return re.MatchString(r.Refused) }
		if r.Refused != "" && !slices.ContainsFunc(sc.refused, known) {
			return fmt.Errorf("the model refused request %d: %s", r.Seq, r.Refused)
		}
	}
	return nil
}

// checkRefusals fails a script in which something that it expected was not refused.
func (sc *script) checkRefusals() error {
	for _, re := range sc.refused {
		matches := func(r agenttest.Request) bool { return r.Refused != "" && re.MatchString(r.Refused) }
		if !slices.ContainsFunc(sc.model.Requests(), matches) {
			return fmt.Errorf("the model refused nothing with %q", re)
		}
	}
	return sc.checkRefused()
}
