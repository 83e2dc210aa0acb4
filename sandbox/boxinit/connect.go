package boxinit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"time"
)

// OperationPath is the path of the request with which a container offers the gateway a connection for one operation.
// After "101 Switching Protocols" it carries what operate reads and writes. Another path is another protocol.
const OperationPath = "/operation"

// ParkedHeader is the field of that request which says that a run is parked, and when it ends on its own, in seconds
// since 1970.
const ParkedHeader = "Parked-Until"

const (
	callPause    = 250 * time.Millisecond // before a call is repeated; it doubles while nobody answers
	callPauseMax = time.Second
	refusedPause = time.Minute      // the same if the gateway does not know the path
	callTime     = 10 * time.Second // for an answer
	maxCallReply = 4 << 10          // bytes
	// maxOperations bounds the operations at the same time.
	maxOperations = 64
)

// errRemoved means that podman has removed the container, and yet it runs.
var errRemoved = errors.New("the container's files were removed")

var errRefused = errors.New("the gateway does not take the connection")

// connect is `boxinit connect`, a child of PID 1: it keeps a connection open on which the bot can ask for an
// operation. When the bot does, it opens the next one.
func (p *Program) connect() error {
	reserveThreads()
	debug.SetGCPercent(25)
	var wait func() // for the end of the early trial
	defer func() {
		if wait != nil {
			wait()
		}
	}()
	places := make(chan struct{}, maxOperations)
	runs := store{p.Dir}
	for failed := callPause; ; {
		places <- struct{}{}
		if isRemoved(runs) {
			return errRemoved
		}
		conn, err := callGateway(p.Gateway, runs.parkedUntil())
		pause := callPause
		switch {
		case err == nil:
			failed = callPause
			if wait == nil { // earlier, silence could mean that the pod has no network yet
				wait = p.network.tryEarly()
			}
			asked := make(chan bool, 1)
			go func() {
				defer func() { <-places }()
				defer conn.Close()
				_ = p.operate(conn, func(is bool) { asked <- is }) // who asked knows
			}()
			if <-asked {
				continue
			}
		case errors.Is(err, errRefused):
			<-places
			pause = refusedPause
		default:
			<-places
			pause, failed = failed, min(2*failed, callPauseMax)
		}
		time.Sleep(pause)
	}
}

// callGateway opens a connection, and says until when a run is parked, if parked is not zero.
func callGateway(socket string, parked time.Time) (net.Conn, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	if err := offer(conn, parked); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// offer sends the request and reads the answer, and not a byte more.
func offer(conn net.Conn, parked time.Time) error {
	if err := conn.SetDeadline(time.Now().Add(callTime)); err != nil {
		return err
	}
	request := "GET " + OperationPath + " HTTP/1.1\r\nHost: boxinit\r\nConnection: Upgrade\r\nUpgrade: boxinit\r\n"
	if !parked.IsZero() {
		request += fmt.Sprintf("%s: %d\r\n", ParkedHeader, parked.Unix())
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return err
	}
	var reply []byte
	for one := make([]byte, 1); !strings.HasSuffix(string(reply), "\r\n\r\n"); {
		if _, err := conn.Read(one); err != nil {
			return err
		}
		if reply = append(reply, one[0]); len(reply) > maxCallReply {
			return errRefused
		}
	}
	if !strings.HasPrefix(string(reply), "HTTP/1.1 101 ") {
		return errRefused
	}
	return conn.SetDeadline(time.Time{})
}
