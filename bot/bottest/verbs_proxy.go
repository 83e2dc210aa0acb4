package bottest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"matrix-tui/bot/bottest/host"
	"matrix-tui/bot/bottest/proxy"
)

// matrix is the address of the homeserver as the bot knows it.
func (sc *script) matrix() string {
	if sc.proxy != nil {
		return sc.proxy.URL()
	}
	return sc.home.URL()
}

// between returns the script's proxy, which must be created before the bot's first start. People are not behind it.
func (sc *script) between() (*proxy.Proxy, error) {
	if sc.proxy != nil {
		return sc.proxy, nil
	}
	if sc.bot.proc != nil {
		return nil, errors.New("the first verb of the proxy comes before the bot's first start")
	}
	var err error
	sc.proxy, err = proxy.New(sc.home.URL())
	return sc.proxy, err
}

// proxyVerbs are the words after `proxy`: the number of arguments, and the function.
var proxyVerbs = map[string]struct {
	args int
	do   func(sc *script, p *proxy.Proxy, args []string) error
}{
	"on": {0, func(*script, *proxy.Proxy, []string) error { return nil }},
	"inject": {2, func(sc *script, p *proxy.Proxy, args []string) error {
		return sc.insert(args, p.Event)
	}},
	"invite": {2, func(sc *script, p *proxy.Proxy, args []string) error {
		return sc.insert(args, p.Invite)
	}},
	"rewrite": {4, func(sc *script, p *proxy.Proxy, args []string) error {
		from, err := regexp.Compile(args[2])
		if err != nil {
			return err
		}
		to, err := sc.raw(args[3])
		if err != nil {
			return err
		}
		return fault(p, args[0], args[1], proxy.Fault{Rewrite: from, To: to})
	}},
	"answer": {4, func(sc *script, p *proxy.Proxy, args []string) error {
		status, err := strconv.Atoi(args[1])
		if err != nil || status < 200 || status > 599 {
			return fmt.Errorf("%q is not a status", args[1])
		}
		body, err := sc.raw(args[2])
		if err != nil {
			return err
		}
		return fault(p, args[0], args[3], proxy.Fault{Status: status, Body: body})
	}},
	"delay": {3, func(_ *script, p *proxy.Proxy, args []string) error {
		d, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		return fault(p, args[0], args[2], proxy.Fault{Delay: d})
	}},
	"cut": {2, func(_ *script, p *proxy.Proxy, args []string) error {
		return fault(p, args[0], args[1], proxy.Fault{Cut: true})
	}},
	"lie": {3, func(sc *script, p *proxy.Proxy, args []string) error {
		first, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		fits, err := regexp.Compile(args[2])
		if err != nil {
			return err
		}
		sc.lied = true
		return p.Lie(args[0], first, fits)
	}},
	"truth": {1, func(sc *script, p *proxy.Proxy, args []string) error {
		kinds := p.Truth()
		fmt.Fprintln(sc.ts.Stdout(), strings.Join(kinds, "\n"))
		for _, want := range strings.Fields(args[0]) {
			fits, err := regexp.Compile(want)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(kinds, fits.MatchString) {
				return fmt.Errorf("nothing like %s was lied about, only:\n%s", want, strings.Join(kinds, "\n"))
			}
		}
		return nil
	}},
}

// doProxy makes the homeserver, as the bot sees it, misbehave.
func doProxy(ctx context.Context, sc *script, _ bool, args []string) error {
	if args[0] == "met" && len(args) == 1 {
		return doRefused(ctx, sc, false, nil)
	}
	v, ok := proxyVerbs[args[0]]
	if !ok || len(args)-1 != v.args {
		return errors.New("usage: see proxy in verbs.go")
	}
	p, err := sc.between()
	if err != nil {
		return err
	}
	return v.do(sc, p, args[1:])
}

// fault adds a fault for the next n matching requests.
func fault(p *proxy.Proxy, n, fits string, f proxy.Fault) (err error) {
	if f.Left, err = strconv.Atoi(n); err != nil {
		return err
	}
	if f.Fits, err = regexp.Compile(fits); err != nil {
		return err
	}
	p.Add(f)
	return nil
}

// insert adds the events in a file to the bot's next sync.
func (sc *script) insert(args []string, tell func(room, events string)) error {
	r, err := sc.room(args[0])
	if err != nil {
		return err
	}
	events, err := sc.raw("<" + args[1])
	if err == nil {
		tell(r.id, events)
	}
	return err
}

var named = regexp.MustCompile(`\$\{(\w+)\}`)

// raw returns a text, or the content of <FILE without its last newline, in which ${NAME} stands for a variable of the
// script and ${now} for the time, in milliseconds. Event IDs, which contain no brace, stay unchanged.
func (sc *script) raw(text string) (string, error) {
	if file, ok := strings.CutPrefix(text, "<"); ok {
		data, err := os.ReadFile(sc.ts.MkAbs(file))
		if err != nil {
			return "", err
		}
		text = strings.TrimSuffix(string(data), "\n")
	}
	return named.ReplaceAllStringFunc(text, func(name string) string {
		if name == "${now}" {
			return strconv.FormatInt(time.Now().UnixMilli(), 10)
		}
		return sc.ts.Getenv(name[2 : len(name)-1])
	}), nil
}

// doRefuse makes the homeserver refuse later requests of the bot.
func doRefuse(_ context.Context, sc *script, _ bool, args []string) error {
	status, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	p, err := sc.between()
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"errcode":%q,"error":%q}`, args[2], http.StatusText(status))
	return fault(p, args[0], args[3], proxy.Fault{Status: status, Body: body})
}

// doRefused waits until every fault has happened.
func doRefused(ctx context.Context, sc *script, _ bool, _ []string) error {
	if sc.proxy == nil {
		return errors.New("a verb of the proxy comes first")
	}
	if err := host.Poll(ctx, func() (bool, error) { return sc.proxy.Left() == 0, nil }); err != nil {
		return fmt.Errorf("%d faults were not met: %w", sc.proxy.Left(), err)
	}
	return nil
}

// doDeviceless makes the homeserver report the token's user but no device, as for application services.
func doDeviceless(_ context.Context, sc *script, _ bool, _ []string) (err error) {
	if sc.bot.proc.Alive() || sc.bot.id == "" {
		return errors.New("the bot must have an account, and not run")
	}
	if sc.proxy == nil {
		if sc.proxy, err = proxy.New(sc.home.URL()); err != nil {
			return err
		}
	}
	sc.proxy.Deviceless(sc.bot.id)
	return nil
}

// doHold delays requests of the bot from now on.
func doHold(_ context.Context, sc *script, _ bool, args []string) error {
	re, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	p, err := sc.between()
	if err != nil {
		return err
	}
	p.Hold(re)
	return nil
}

// doHeld waits until N requests are delayed, and fails if there are more.
func doHeld(ctx context.Context, sc *script, _ bool, args []string) error {
	want, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	if sc.proxy == nil {
		return errors.New("hold comes first")
	}
	var now int64
	err = host.Poll(ctx, func() (bool, error) {
		var ok bool
		if now, ok = sc.proxy.Held(); !ok {
			return false, errors.New("hold comes first")
		}
		if now > want {
			return false, fmt.Errorf("more than %d", want)
		}
		return now == want, nil
	})
	if err != nil {
		return fmt.Errorf("%d requests are held: %w", now, err)
	}
	return nil
}

// doRelease lets delayed requests continue.
func doRelease(_ context.Context, sc *script, _ bool, _ []string) error {
	if sc.proxy == nil {
		return errors.New("hold comes first")
	}
	sc.proxy.Release()
	return nil
}
