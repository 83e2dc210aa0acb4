package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/sandbox"
	"matrix-tui/sandbox/gateway"
)

// perSample is how many requests each sample of the other sections is worth: one takes a few milliseconds.
const perSample = 10

// askBoth sends the same request again and again from inside a container, in turns through the room's gateway and to
// the model itself, and prints the milliseconds of each pair. Its arguments are the number of pairs and the model's
// socket.
const askBoth = `
const http = require('http'), [pairs, socketPath] = process.argv.slice(2);
const body = JSON.stringify({contents: [{role: 'user', parts: [{text: 'x'.repeat(60000) + '[alice]: number 1'}]}]});
const path = '/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse', method = 'POST';
const headers = {'content-type': 'application/json', 'content-length': body.length, 'x-goog-api-key': process.env.GEMINI_API_KEY || 'none'};
const ways = [
	{host: '127.0.0.1', port: 3128, path: '/model' + path, agent: new http.Agent({keepAlive: true})},
	{socketPath, path, agent: new http.Agent({keepAlive: true})},
];
const ask = way => new Promise((done, fail) => {
	const begun = process.hrtime.bigint(), req = http.request({...way, method, headers}, resp => {
		let text = '';
		resp.setEncoding('utf8').on('data', part => text += part).on('error', fail).on('end', () => {
			if (resp.statusCode !== 200 || !text.includes('got 1')) return fail(new Error(resp.statusCode + ' ' + text));
			done(Number(process.hrtime.bigint() - begun) / 1e6);
		});
	});
	req.on('error', fail).end(body);
});
(async () => {
	const took = [];
	for (let i = -20; i < +pairs; i++) { // the first ones warm up
		const pair = [];
		for (const way of i % 2 ? [0, 1] : [1, 0]) pair[way] = await ask(ways[way]);
		if (i >= 0) took.push(pair);
	}
	console.log(JSON.stringify(took));
	process.exit(0);
})();
`

// measureGateway measures what a room's gateway adds to a request to the model: the same request from inside the room's
// container, through the gateway and to a socket of the model itself.
func measureGateway(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, "gateway")
	if err != nil {
		return err
	}
	defer s.close(&err)
	const room = "!gateway:localhost"
	address, key := s.ModelAPI()
	upstream, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("read the model's address: %w", err)
	}
	g := gateway.New(gateway.Config{Dir: filepath.Join(s.StateDir(), "gateway"), Log: zerolog.Nop()})
	route := gemini.NewRoute(gemini.RouteConfig{Base: upstream, Key: key, Log: zerolog.Nop()}, g)
	defer func() { err = errors.Join(err, g.Close(ctx)) }()
	dir, err := g.Open(room)
	if err != nil {
		return err
	}
	route.Begin(room, "bench", "gemini-3.1-pro-preview")
	podman, err := sandbox.Connect(ctx, "unix://"+s.Socket(), zerolog.Nop())
	if err != nil {
		return err
	}
	defer podman.Close()
	podman.Place = sandbox.Place{Doors: g, Version: "bench"}
	container, err := podman.Ensure(ctx, sandbox.Spec{
		Room: room, Name: s.Own(room), Image: b.host.Image(), Memory: 2 << 30, CPUs: 2, PIDs: 1024,
		Runtime: os.Getenv("SANDBOX_RUNTIME"),
	})
	if err != nil {
		return err
	}
	direct, err := s.openModel(filepath.Join(dir, "model"), key) // not before: the folder is a new one
	if err != nil {
		return err
	}
	defer direct.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "podman", "exec", "--interactive", container.Name, "node", "-",
		strconv.Itoa(perSample*b.n), "/run/gateway/model")
	cmd.Stdin = strings.NewReader(askBoth)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var pairs [][2]float64
	if err == nil {
		err = json.Unmarshal(out, &pairs)
	}
	if err != nil {
		return fmt.Errorf("ask the model from inside the container: %w: %s%s", err, out, stderr.Bytes())
	}
	var through, alone, ours []float64
	for _, pair := range pairs {
		through, alone, ours = append(through, pair[0]), append(alone, pair[1]), append(ours, pair[0]-pair[1])
	}
	b.table.add("a request of 60 KB to the model from a room's container, through its gateway", "ms", 0, through...)
	b.table.add("the same to the model itself", "ms", 0, alone...)
	b.table.add("what the gateway adds to a request (pair by pair)", "ms", 3, ours...)
	return nil
}

// openModel lets a container whose gateway's folder this path is in reach the model without its gateway.
func (s *scene) openModel(path, key string) (*http.Server, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for the model: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the model: %w", err), listener.Close())
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-Goog-Api-Key", key)
			s.Model().ServeHTTP(w, r)
		})}
	go func() { _ = server.Serve(listener) }()
	return server, nil
}
