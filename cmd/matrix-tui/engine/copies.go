package engine

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
	"matrix-tui/sandbox/kube"
)

// ForVolumes is Connect for a process that copies rooms' volumes, which calls end afterwards. In a cluster, the process
// is the door meanwhile: no bot may run, so it holds the lock of the state folder.
func ForVolumes(ctx context.Context, cfg *settings.Config,
	log zerolog.Logger) (e sandbox.Engine, end func(), err error) {
	if cfg.Engine != settings.Kubernetes {
		if e, err = Connect(ctx, cfg, nil, log); err != nil {
			return nil, nil, err
		}
		return e, e.Close, nil
	}
	dir, err := os.MkdirTemp("", "matrix-tui-") // the path of a socket must be short
	if err != nil {
		return nil, nil, fmt.Errorf("create a folder for the door: %w", err)
	}
	ends := []func(){func() { _ = os.RemoveAll(dir) }}
	all := func() {
		for _, one := range slices.Backward(ends) {
			one()
		}
	}
	defer func() {
		if err != nil {
			all()
		}
	}()
	// With a certificate of its own, only the pods that this process creates come in: those that wait for the bot go on
	// waiting.
	certificate, public, err := kube.Certificate(dir)
	if err != nil {
		return nil, nil, err
	}
	// They are refused again and again: the door says nothing of that.
	if e, err = Connect(ctx, cfg, public, log.Level(zerolog.ErrorLevel)); err != nil {
		return nil, nil, err
	}
	cluster, rooms := e.(*kube.Cluster), sandbox.NewRooms(e, log)
	ends = append(ends, rooms.Close)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", string(cfg.KubeListen))
	if err != nil {
		return nil, nil, fmt.Errorf("open the door at KUBE_LISTEN: %w", err)
	}
	// It leads nowhere: there are no ports to connect to, and no model.
	gate := gateway.New(gateway.Config{Dir: filepath.Join(dir, "g"), Ports: []uint16{}, Log: log})
	gate.Attend(sandbox.OfferPath, sandbox.OfferField, func(room string, conn net.Conn, value string) {
		rooms.Offer(room, conn, value)
	})
	cluster.Copies = &kube.Copies{Rooms: rooms, Gate: gate}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // a pod that ends may still need it
	var door sync.WaitGroup
	door.Go(func() {
		if err := Door(cluster, certificate, gate, listener)(serving); err != nil {
			log.Error().Err(err).Msg("the door for rooms' pods has failed")
		}
	})
	ends = append(ends, func() {
		stop()
		door.Wait()
		_ = gate.Close(context.Background()) // of sockets in dir
	})
	return e, all, nil
}
