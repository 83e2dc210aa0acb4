package bot

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix"
)

// silent is a homeserver that accepts requests and does not answer.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// The bot is alive while the homeserver does not answer a sync, and while it works on the
// events of a batch; not if it does neither.
func TestAlive(t *testing.T) {
	before := http.DefaultTransport
	http.DefaultTransport = silent{}
	defer func() { http.DefaultTransport = before }()
	synctest.Test(t, func(t *testing.T) {
		b := newDeciding(t, "").bot
		account, err := matrix.New(matrix.Config{Homeserver: "http://home", User: "@bot:here", Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		b.use(account)
		for range 5 {
			time.Sleep(maxSilence / 2)
			b.admission.Worked.Open() // as each event of a batch does
			if err := b.Alive(t.Context()); err != nil {
				t.Fatal("while it reads events: ", err)
			}
		}
		time.Sleep(maxSilence + time.Second)
		if b.Alive(t.Context()) == nil {
			t.Error("it is alive although it does nothing")
		}
		ended := make(chan struct{})
		go func() { _, _ = b.account.Sync(t.Context(), "", 0); close(ended) }()
		time.Sleep(10 * time.Minute)
		if err := b.Alive(t.Context()); err != nil {
			t.Error("while the homeserver does not answer: ", err)
		}
		<-ended
	})
}
