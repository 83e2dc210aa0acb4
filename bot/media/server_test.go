package media

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"

	"matrix-tui/bot/matrix"
	"matrix-tui/sandbox/sandboxtest"
	"matrix-tui/state/event"
	"matrix-tui/state/sentence"
)

// account is an account on a Dendrite of the test's own, with a second client of it that checks the server.
func account(t *testing.T) (*matrix.Account, *mautrix.Client) {
	t.Helper()
	bins := os.Getenv("MATRIX_TUI_DENDRITE")
	if bins == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			sandboxtest.Skip(t, err)
		}
		bins = filepath.Join(cache, "matrix-tui", "bin")
	}
	if _, err := os.Stat(filepath.Join(bins, "dendrite")); err != nil {
		sandboxtest.Skip(t, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	script, err := filepath.Abs("../../deploy/homeserver/start")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "media") // of letters and digits only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.Command(script, dir, strconv.Itoa(port))
	cmd.Env = append(os.Environ(), "MATRIX_TUI_DENDRITE="+bins)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	client, err := mautrix.NewClient("http://127.0.0.1:"+strconv.Itoa(port), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err = client.Versions(t.Context()); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the homeserver does not answer: ", err)
		}
	}
	resp, err := client.RegisterDummy(t.Context(), &mautrix.ReqRegister[any]{Username: "alice", Password: "alice-alice"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := matrix.New(matrix.Config{
		Homeserver: client.HomeserverURL.String(), User: resp.UserID.String(), AccessToken: resp.AccessToken, StateDir: t.TempDir(), Log: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	client.AccessToken = resp.AccessToken
	return a, client
}

// TestThereAndBack sends an image as the bot would and fetches it as the bot would, in clear and encrypted.
func TestThereAndBack(t *testing.T) {
	own, client := account(t)
	data := encoded(t, "image/png", halves(1000, 500, color.White))
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	item := &Item{Name: "chart.png", Path: path}
	if err := item.examine(t.Context(), file, nil); err != nil {
		t.Fatal(err)
	}
	for _, encrypted := range []bool{false, true} {
		t.Run(fmt.Sprintf("encrypted %v", encrypted), func(t *testing.T) {
			up, err := Upload(t.Context(), own, item, encrypted)
			if err != nil {
				t.Fatal(err)
			}
			f, ok := Describe(event.Message{MsgType: "m.image", Body: item.Name, File: &up})
			if !ok || f.Type != "image/png" || f.Size != int64(len(data)) || (f.Secret != nil) != encrypted || up.Width != 1000 || up.Height != 500 {
				t.Errorf("the message describes %+v", up)
			}
			checkFetch(t, own.Messages.Download, f, 1<<20, data, "")
			checkFetch(t, own.Messages.Download, f, int64(len(data))-1, nil, sentence.Text(tooLarge("chart.png", int64(len(data))-1)))
			// The thumbnail is encrypted too.
			small, _ := Describe(event.Message{MsgType: "m.image", Body: "thumb", File: up.Thumb})
			if small.URL == "" || small.URL == f.URL || (small.Secret != nil) != encrypted || small.Type != "image/jpeg" || up.Thumb.Width != 800 || up.Thumb.Height != 400 {
				t.Fatalf("thumbnail %+v", up.Thumb)
			}
			checkFetch(t, own.Messages.Download, small, 1<<20, item.Thumb.Data, "")
			if encrypted {
				serverHas(t, client, f.URL, data, "application/octet-stream")
				serverHas(t, client, small.URL, item.Thumb.Data, "application/octet-stream")
			}
		})
	}
	f := File{Kind: Image, URL: "mxc://localhost/nothing", Name: "x.png"}
	checkFetch(t, own.Messages.Download, f, 100, nil, "The homeserver no longer has the file x.png. Please send it again.")
}

// serverHas checks that the server has something else than data.
func serverHas(t *testing.T, client *mautrix.Client, uri string, data []byte, kind string) {
	t.Helper()
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		client.HomeserverURL.String()+"/_matrix/client/v1/media/download/"+strings.TrimPrefix(uri, "mxc://"), nil)
	if err != nil {
		t.Fatal(err)
	}
	get.Header.Set("Authorization", "Bearer "+client.AccessToken)
	resp, err := http.DefaultClient.Do(get)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) != len(data) || bytes.Equal(body, data) || resp.Header.Get("Content-Type") != kind || strings.Contains(resp.Header.Get("Content-Disposition"), "chart") {
		t.Errorf("the server has %d bytes of type %s, %s, %v", len(body), resp.Header.Get("Content-Type"), resp.Header.Get("Content-Disposition"), err)
	}
}
