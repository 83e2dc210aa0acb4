package bottest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"matrix-tui/bot/bottest/host"
)

// settings applies KEY=VALUE arguments; they stay for later starts.
func (sc *script) settings(args []string) error {
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not KEY=VALUE", arg)
		}
		sc.bot.set[key] = value
	}
	return nil
}

func doLaunch(ctx context.Context, sc *script, _ bool, args []string) error {
	if err := sc.settings(args); err != nil {
		return err
	}
	if err := sc.defaultPolicy(); err != nil {
		return err
	}
	return sc.launchBot(ctx)
}

func doStart(ctx context.Context, sc *script, neg bool, args []string) error {
	if err := doLaunch(ctx, sc, neg, args); err != nil {
		return err
	}
	if !neg {
		return sc.ready(ctx)
	}
	return doFailed(ctx, sc, false, nil)
}

// doFailed waits until the bot has exited with an error.
func doFailed(ctx context.Context, sc *script, _ bool, _ []string) error {
	if sc.bot.proc == nil {
		return fmt.Errorf("the bot was not started")
	}
	select {
	case <-sc.bot.proc.Done:
	case <-ctx.Done():
		return fmt.Errorf("the bot is still running: %w", ctx.Err())
	}
	fmt.Fprint(sc.ts.Stderr(), sc.bot.now())
	if code, by := sc.bot.proc.Ended(); code <= 0 {
		return fmt.Errorf("the bot ended with code %d, signal %d, not with an error", code, by)
	}
	return nil
}

func doReady(ctx context.Context, sc *script, _ bool, _ []string) error { return sc.ready(ctx) }

func doStop(ctx context.Context, sc *script, _ bool, _ []string) error { return sc.stopBot(ctx) }

func doKill(ctx context.Context, sc *script, _ bool, _ []string) error { return sc.killBot(ctx) }

func doDied(ctx context.Context, sc *script, _ bool, _ []string) error { return sc.died(ctx) }

func doQuiet(ctx context.Context, sc *script, _ bool, _ []string) error { return sc.quiet(ctx) }

func doKillAt(ctx context.Context, sc *script, _ bool, args []string) error {
	sc.bot.killAt = args[0]
	if !sc.bot.proc.Alive() {
		return nil
	}
	if err := sc.stopBot(ctx); err != nil {
		return err
	}
	if err := sc.launchBot(ctx); err != nil {
		return err
	}
	return sc.ready(ctx)
}

func doLog(ctx context.Context, sc *script, neg bool, args []string) error {
	re, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	if neg {
		if line := re.FindString(sc.bot.now()); line != "" {
			return fmt.Errorf("the bot's log has %q", line)
		}
		return nil
	}
	if host.Poll(ctx, func() (bool, error) { return re.MatchString(sc.bot.now()), nil }) != nil {
		return fmt.Errorf("the bot's log has nothing like %q", args[0])
	}
	return nil
}

// doLogged counts lines of the bot's log.
func doLogged(ctx context.Context, sc *script, _ bool, args []string) error {
	re, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	if err := sc.quiet(ctx); err != nil {
		return err
	}
	got := 0
	for line := range strings.Lines(sc.bot.now()) {
		if re.MatchString(line) {
			got++
		}
	}
	return differs("matching lines in the bot's log", got, args[1])
}

func doMemory(_ context.Context, sc *script, _ bool, args []string) error {
	most := args[0]
	if race && len(args) > 1 {
		most = args[1]
	}
	limit, err := strconv.ParseInt(most, 10, 64)
	if err != nil {
		return err
	}
	mb, err := sc.bot.rss()
	if err != nil {
		return err
	}
	if mb >= limit {
		return fmt.Errorf("the bot uses %d MiB", mb)
	}
	return nil
}

func doCLI(ctx context.Context, sc *script, neg bool, args []string) error {
	if err := sc.account(ctx); err != nil {
		return err
	}
	program, err := sc.program()
	if err != nil {
		return err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = sc.dir, sc.environment(), &out, &errs
	cmd.WaitDelay = host.Straggling
	err = cmd.Run()
	fmt.Fprint(sc.ts.Stdout(), out.String())
	fmt.Fprint(sc.ts.Stderr(), errs.String())
	if strings.Contains(out.String()+errs.String(), sc.key) {
		return fmt.Errorf("the API key is in the output")
	}
	if (err != nil) != neg {
		return fmt.Errorf("%s: %v", strings.Join(args, " "), err)
	}
	return nil
}
