package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"matrix-tui/bot/crash"
	"matrix-tui/sandbox/boxinit"
)

// door is the way into one container.
type door struct {
	room           string
	id, name, init string // as in Ensured; "" without a container: only what it offers is used
	strength       string
	wait           time.Duration // for a connection that it offers
	offers         *offers
	uses           *uses
	runner         Runner
}

// do carries out an operation on a connection that the container has offered, or in a process that the engine starts,
// if it offers none: the error then says why. The reply is bounded. It may say that the operation
// failed: see failure.
func (d *door) do(ctx context.Context, o operation) (reply boxinit.Reply, err error) {
	if d.name != "" {
		defer d.uses.begin(d.name)()
	}
	o.Strength = d.strength
	crash.Count("boxinit " + string(o.Op))
	switch conn := d.offers.take(ctx, d.room, cmp.Or(d.wait, offerTime)); {
	case conn != nil:
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		reply, err = o.on(conn)
	case ctx.Err() == nil && d.id != "":
		reply, err = d.doByExec(ctx, o)
	default:
		err = errors.New("it offers no connection")
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return reply, explain(err, "work in container", d.name)
}

// doByExec carries out an operation in a process that the engine starts in the container.
func (d *door) doByExec(ctx context.Context, o operation) (boxinit.Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, process := net.Pipe()
	defer conn.Close()
	why := make(chan error, 1) // why there is no process any more
	go func() {
		said := bounded{left: 64 << 10}
		code, err := d.runner.Exec(ctx, d.id, Process{
			Argv: []string{d.init, "operate"}, Stdin: process, Hold: true, Stdout: process, Stderr: &said,
		})
		if err == nil {
			err = unattended(code, strings.TrimSpace(said.kept.String()))
		}
		why <- err
		process.Close()
	}()
	one := []byte{1}
	_, err := conn.Write(one)
	if err == nil {
		_, err = io.ReadFull(conn, one)
	}
	if err != nil {
		return boxinit.Reply{}, <-why
	}
	reply, err := o.on(conn)
	if errors.Is(err, errLost) { // the process has ended
		err = <-why
	}
	return reply, err
}

// short carries out an operation that can be repeated. It retries while the engine, or the connection, is lost.
// Prepare, if it is not nil, sets the streams of each try.
func (d *door) short(ctx context.Context, verb string, r boxinit.Request,
	prepare func(*operation)) (boxinit.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	again := pauses().Until(time.Now().Add(retryTime))
	for {
		o := operation{Request: r}
		if prepare != nil {
			prepare(&o)
		}
		reply, err := d.do(ctx, o)
		if err == nil {
			return reply, failure(reply, verb)
		}
		if !errors.Is(err, ErrUnreachable) || again.Wait(ctx, err) != nil {
			return reply, fmt.Errorf("%s: %w", verb, err)
		}
	}
}
