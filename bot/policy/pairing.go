package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Limits of pairing.
const (
	CodeLifetime      = time.Hour
	MaxCodesPerUser   = 3   // pending codes per user
	MaxCodesPerServer = 20  // per server: whoever can create accounts there must not use up all codes
	MaxCodes          = 100 // in total
	MaxWrongAttempts  = 10  // within CodeLifetime
)

// Errors of pairing. Those of Accept are shown to the owner who entered the code.
var (
	ErrTooManyCodes = errors.New("too many pending pairing codes") // send no answer
	ErrWrongCode    = sayf(
		"That pairing code is not valid. Codes have %d letters and digits and expire after one hour.", codeLength)
	ErrTooManyAttempts = sayf("There were %d wrong pairing codes within an hour, so I accept none for a while. `!policy "+
		"allow @user:server` works without a code.", MaxWrongAttempts)
)

// Pairing manages the codes for unknown people: the bot gives one in a direct chat, and
// an owner who gets it from that person accepts it. It is safe for concurrent use.
type Pairing struct {
	path string

	mu   sync.Mutex
	kept kept
}

// pending is one code.
type pending struct {
	Code     string    `json:"code"`
	User     string    `json:"user"`
	Room     string    `json:"room"`
	Made     time.Time `json:"made"`
	Accepted bool      `json:"accepted,omitempty"`
}

// OpenPairing reads pairing.json from the state folder; it may be missing. A file that
// does not parse is logged and replaced: its codes are void.
func OpenPairing(dir string, log zerolog.Logger) (*Pairing, error) {
	p := &Pairing{path: filepath.Join(dir, "pairing.json")}
	data, err := readBytes(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read pairing codes: %w", err)
	}
	if err := json.Unmarshal(data, &p.kept); err != nil {
		log.Warn().Err(err).Str("file", p.path).Msg("cannot read the pairing codes: codes given out earlier are void")
		p.kept = kept{}
	}
	return p, nil
}

// Code returns the code of a user in a room: the pending one or a new one. It is on
// disk when Code returns. ErrTooManyCodes means that there can be none for now; other
// errors are about the file.
func (p *Pairing) Code(user, room string, now time.Time) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	codes := p.kept.current(now)
	server, _ := serverOf(user)
	all, ofServer, ofUser := 0, 0, 0
	for _, c := range codes {
		if c.Accepted {
			continue
		}
		if c.User == user && c.Room == room {
			return c.Code, nil
		}
		all++
		if its, _ := serverOf(c.User); its == server {
			ofServer++
		}
		if c.User == user {
			ofUser++
		}
	}
	if all >= MaxCodes || ofServer >= MaxCodesPerServer || ofUser >= MaxCodesPerUser || len(user) > 255 ||
		len(room) > 255 {
		return "", ErrTooManyCodes
	}
	made := pending{Code: newCode(), User: user, Room: room, Made: now.UTC()}
	if err := p.keep(kept{Codes: append(codes, made), Wrong: p.kept.wrong(now)}); err != nil {
		return "", err
	}
	return made.Code, nil
}

// Accept returns the user and room of a code. The same code is accepted again until it
// expires, so that a command repeated after a crash has the same result; the caller's
// next step is [Source.Allow]. ErrWrongCode and ErrTooManyAttempts have sentences.
func (p *Pairing) Accept(code string, now time.Time) (user, room string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	codes, wrong := p.kept.current(now), p.kept.wrong(now)
	if len(wrong) >= MaxWrongAttempts {
		return "", "", ErrTooManyAttempts
	}
	code = tidyCode(code)
	found := slices.IndexFunc(codes, func(c pending) bool { return sameCode(c.Code, code) })
	if found < 0 {
		p.kept = kept{Codes: codes, Wrong: append(wrong, now.UTC())} // counts even if the disk is full
		if err := p.kept.write(p.path); err != nil {
			return "", "", err
		}
		return "", "", ErrWrongCode
	}
	it := codes[found]
	if !it.Accepted {
		codes[found].Accepted = true
		if err := p.keep(kept{Codes: codes, Wrong: wrong}); err != nil {
			return "", "", err
		}
	}
	return it.User, it.Room, nil
}

// keep writes new contents to disk, then replaces the old ones in memory.
func (p *Pairing) keep(next kept) error {
	if err := next.write(p.path); err != nil {
		return err
	}
	p.kept = next
	return nil
}
