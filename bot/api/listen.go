package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"matrix-tui/state/sentence"
)

// Listen listens on the address of a setting; a sentence explains a failure.
func Listen(ctx context.Context, setting, address string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, sentence.Newf(fmt.Errorf("listen on %s: %w", address, err),
			"%s is %s, %s.", setting, address, whyNot(err))
	}
	return ln, nil
}

// whyNot says why listening on an address failed, and what to do about it.
func whyNot(err error) string {
	var call *os.SyscallError
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "but another program is already listening there: stop it, or choose another port"
	case errors.Is(err, syscall.EACCES):
		return "but the bot's user may not use that port: choose one above 1023"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "which is not an address of this host: choose one that is, such as 127.0.0.1"
	case errors.As(err, &dns):
		return "and that name has no address: use an address of this host, such as 127.0.0.1"
	case errors.As(err, &call):
		err = call.Err
	}
	return fmt.Sprintf("but the bot cannot listen there: %v", err)
}
