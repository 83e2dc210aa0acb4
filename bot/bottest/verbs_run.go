package bottest

import (
	"context"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands makes testscript commands of the verbs.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){}
	for _, v := range verbs {
		cmds[v.name] = v.run
		if v.negates {
			cmds["!"+v.name] = func(ts *testscript.TestScript, _ bool, args []string) { v.run(ts, true, args) }
		}
	}
	return cmds
}

func (v verb) run(ts *testscript.TestScript, neg bool, args []string) {
	sc := ts.Value(scriptKey{}).(*script)
	sc.ts = ts
	if len(args) < v.min || (v.max >= 0 && len(args) > v.max) {
		ts.Fatalf("usage: %s %s", v.name, v.args)
	}
	if neg && !v.negates {
		ts.Fatalf("%s cannot be negated", v.name)
	}
	wait := sc.wait
	if v.max == len(args) && v.max > v.min { // the last optional argument is a deadline
		if d, err := time.ParseDuration(args[len(args)-1]); err == nil {
			wait, args = d, args[:len(args)-1]
		}
	}
	ctx, cancel := sc.timeout(wait)
	defer cancel()
	if err := v.do(ctx, sc, neg, args); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		ts.Fatalf("%s: %v", v.name, err)
	}
}

func doDeadline(_ context.Context, sc *script, _ bool, args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return fmt.Errorf("no duration: %w", err)
	}
	sc.wait = d
	return nil
}
