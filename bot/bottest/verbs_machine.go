package bottest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"matrix-tui/bot/bottest/host"
)

func doMachine(ctx context.Context, sc *script, _ bool, args []string) error {
	if sc.machine != nil || sc.bot.proc != nil {
		return fmt.Errorf("a script has one machine, before the bot's first start")
	}
	if len(args) > 0 && args[0] != "clone" && args[0] != "qemu" {
		return fmt.Errorf("usage: machine [clone|qemu [SUITE]]")
	}
	m, err := sc.newMachine(ctx, args)
	if err != nil {
		return err
	}
	if m.shop != nil {
		if err := errors.Join(sc.nameReleases(ctx), sc.nameImage(ctx)); err != nil {
			return err
		}
	}
	port, err := host.FreePort()
	if err != nil {
		return err
	}
	sc.ts.Setenv("port", strconv.Itoa(port))
	sc.ts.Setenv("home", m.home)
	sc.ts.Setenv("state", sc.state())
	return sc.account(ctx)
}

// doInstall runs the installer as in the README, with the answers in a file.
func doInstall(ctx context.Context, sc *script, neg bool, args []string) error {
	if sc.machine == nil {
		return fmt.Errorf("machine comes first")
	}
	var options []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") || !strings.Contains(arg, "=") {
			options = append(options, arg)
		} else if err := sc.settings([]string{arg}); err != nil {
			return err
		}
	}
	if _, errs, code, err := sc.machine.run(ctx, sc.answers(), "sh", "-c", "umask 077; cat >/root/answers"); err != nil ||
		code != 0 {
		return fmt.Errorf("write answers: %w %s", err, errs)
	}
	return doOnMachine(ctx, sc, neg, append([]string{"/opt/matrix-tui/deploy/install", "--answers", "/root/answers"},
		options...))
}

func doOnMachine(ctx context.Context, sc *script, neg bool, args []string) error {
	if sc.machine == nil {
		return fmt.Errorf("machine comes first")
	}
	out, errs, code, err := sc.machine.run(ctx, nil, args...)
	fmt.Fprint(sc.ts.Stdout(), out)
	fmt.Fprint(sc.ts.Stderr(), errs)
	if err != nil {
		return err
	}
	for what, secret := range map[string]string{"the API key": sc.key, "the bot's password": sc.bot.password} {
		if strings.Contains(out+errs, secret) {
			return fmt.Errorf("%s is in the output", what)
		}
	}
	if (code != 0) != neg {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}

// doMachinePower cuts the power: what is not on disk is lost.
func doMachinePower(ctx context.Context, sc *script, _ bool, args []string) error {
	if sc.machine == nil {
		return fmt.Errorf("machine comes first")
	}
	switch args[0] {
	case "off":
		return sc.machine.powerOff(ctx)
	case "on":
		return sc.machine.powerOn(ctx)
	}
	return fmt.Errorf("usage: machine-power off|on")
}
