package agent

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// address is a public address. origin answers in its place.
const address = "93.184.215.14"

// origin is a server on this host that stands for the whole internet: the host's proxy leads to it.
type origin struct {
	sync.Mutex
	asked []string // the path, or HOST:PORT of a tunnel for TLS, which is not served
}

// newOrigin starts the proxy and names it in the environment. Call it before newReal.
func newOrigin(t *testing.T) *origin {
	o := &origin{}
	note := func(what string) {
		o.Lock()
		defer o.Unlock()
		o.asked = append(o.asked, what)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r.URL.Path)
		fmt.Fprint(w, "the origin")
	}))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodConnect:
			note(r.URL.Path) // with ProxyNames
			return
		case strings.HasSuffix(r.RequestURI, ":443"):
			note(r.RequestURI)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		far, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer far.Close()
		near, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer near.Close()
		io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
		go io.Copy(far, near)
		io.Copy(near, far)
	}))
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close(); web.Close() })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	return o
}

// was reports whether it was asked for something that begins so.
func (o *origin) was(want string) bool {
	o.Lock()
	defer o.Unlock()
	return slices.ContainsFunc(o.asked, func(what string) bool { return strings.HasPrefix(what, want) })
}

// wayOut is a tool, a command with it, and what the origin is then asked for. $HTTP is the origin's address.
type wayOut struct{ tool, command, want string }

// find runs the commands as an approved command, which has the environment of the agent's own, and looks at the origin.
func (o *origin) find(t *testing.T, r *real, ways []wayOut) {
	t.Helper()
	for _, way := range ways {
		o.Lock()
		o.asked = nil
		o.Unlock()
		spec := ApprovedRun("out-"+way.tool, Held{Command: "HTTP=http://" + address + "\ncd $(mktemp -d)\n" + way.command, Dir: "/workspace"}, nil)
		if _, err := r.container.StartRun(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		begun := time.Now()
		if _, err := r.container.FollowRun(t.Context(), spec.ID, 0, &out); err != nil {
			t.Fatal(err)
		}
		if !o.was(way.want) {
			t.Errorf("%s: the origin was asked for %q, want %s…: %s", way.tool, o.asked, way.want, out.String())
		}
		t.Logf("%s: %s", way.tool, time.Since(begun).Round(time.Millisecond))
	}
}

// What the image has finds the way out, and does not take it to a server in the container.
func TestWayOut(t *testing.T) {
	o := newOrigin(t)
	r := newReal(t)
	const node = `node -e 'const s = require("http").createServer((q, a) => a.end("own")).listen(0, async () => {
  for (const host of ["127.0.0.1", "localhost", "[::1]"]) console.log(await (await fetch("http://" + host + ":" + s.address().port)).text());
  s.close();
})'`
	o.find(t, r, []wayOut{
		{"fetch", `node -e 'fetch("'$HTTP'/fetch")'`, "/fetch"},
		{"fetch-tls", `node -e 'fetch("https://` + address + `/")'`, address + ":443"},
		{"node-http", `node -e 'require("http").get("'$HTTP'/node-http")'`, "/node-http"},
		{"npm", `npm view x --fetch-retries=0 --registry $HTTP/npm/`, "/npm/x"},
		{"npm-tls", `npm view x --fetch-retries=0 --registry https://` + address, address + ":443"},
		{"pip", `pip download --retries 0 --no-deps --trusted-host ` + address + ` --index-url $HTTP/pip x`, "/pip/x/"},
		{"urllib", `python3 -c 'import urllib.request as r; r.urlopen("'$HTTP'/urllib")'`, "/urllib"},
		{"curl", `curl $HTTP/curl`, "/curl"},
		{"curl-tls", `curl https://` + address, address + ":443"},
		{"git", `git ls-remote $HTTP/git`, "/git/info/refs"},
		{"apt", `echo "deb [trusted=yes] $HTTP/apt x main" >list; apt-get -o Dir::Etc::SourceList=$PWD/list -o Dir::Etc::SourceParts=- -o Acquire::Retries=0 update`, "/apt/dists/x/InRelease"},
		{"server", `out=$(` + node + `); curl "$HTTP/server/$(echo $out | tr ' ' -)"`, "/server/own-own-own"},
	})
	r.sh(t, "rm -f /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] http://"+address+"/again x main' >/etc/apt/sources.list")
	if _, err := r.container.Reinstall(t.Context(), []string{"hello"}); err != nil {
		t.Error(err)
	}
	if !o.was("/again/dists/x/InRelease") {
		t.Error("packages to be installed again: the origin was not asked")
	}
}
