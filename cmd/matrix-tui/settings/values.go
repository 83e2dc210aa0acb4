package settings

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/bot/matrix/e2ee"
	"matrix-tui/bot/policy"
	"matrix-tui/sandbox"
)

// The types of the settings: each parses its text in UnmarshalText and rejects invalid values. The field's `right` tag
// says what is valid.
type (
	// WebAddress is an http or https URL without query, fragment and user, and without a slash at the end.
	WebAddress string
	// UserName is a Matrix user: @name:server, or the localpart alone.
	UserName string
	// UserIDs are full Matrix user IDs.
	UserIDs []string
	// UserGlobs are user IDs, and @*:server for everybody on a server.
	UserGlobs []string
	// MemorySlot says what keeps what rooms have learned.
	MemorySlot string
	// EmbeddingSlot says where the vectors come from that searches use.
	EmbeddingSlot string
	// Devices says which of people's devices are trusted in encrypted rooms.
	Devices string
	// Proof says what needs an encrypted message from a verified session.
	Proof string
	// Bytes is an amount of memory; 0 means no limit.
	Bytes int64
	// CPUs is a number of processors; 0 means no limit.
	CPUs float64
	// PIDs is a number of processes and threads; 0 means no limit.
	PIDs int64
	// Files is a number of open files.
	Files int64
	// Runtime is the name of an OCI runtime that gives each container a kernel of its own.
	Runtime string
	// Ports are TCP ports.
	Ports []uint16
	// Networks are IP networks; a single address is one of itself.
	Networks []netip.Prefix

	// Hour is an hour of the day.
	Hour int

	// Tokens is a number of the model's tokens; 0 = no limit.
	Tokens int64

	// ModelTools are tools that run at the model's provider.
	ModelTools []string
	// Agents is a number of agents, from 0.
	Agents int
	// Count is a whole number from 1.
	Count int
	// Seconds is a duration that is set in seconds.
	Seconds time.Duration
	// Minutes is a duration that is set in minutes.
	Minutes time.Duration
	// Span is a duration with its unit; 0 means never.
	Span time.Duration
	// Days is a duration that is set in days.
	Days time.Duration
	// Milliseconds is a duration that is set in milliseconds.
	Milliseconds time.Duration
	// Megabytes is a number of bytes that is set in units of 1,048,576.
	Megabytes int64
	// Switch is true or false.
	Switch bool
	// Level is the lowest level of log lines that are written.
	Level zerolog.Level
	// SocketURI is a unix socket in podman's notation, unix:///PATH.
	SocketURI string
	// Listen is an address to listen on, host:port; port 0 is any free port.
	Listen string
	// Folder is an absolute path.
	Folder string
	// Word is a name without white space that does not begin with a dash: an
	// image, a model.
	Word string
)

// errValue means that a value is invalid; the field's `right` tag says what is valid.
var errValue = errors.New("not such a value")

func (a *WebAddress) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Opaque != "" {
		return errValue
	}
	if port := u.Port(); port != "" && !isPort(port) || strings.HasSuffix(u.Host, ":") {
		return errValue
	}
	*a = WebAddress(strings.TrimRight(u.String(), "/"))
	return nil
}

func (s *Switch) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "true", "1", "yes", "on":
		*s = true
	case "false", "0", "no", "off":
		*s = false
	default:
		return errValue
	}
	return nil
}

const (
	FirstSeen   = Devices(e2ee.FirstSeen)
	CrossSigned = Devices(e2ee.CrossSigned)
	AllDevices  = Devices(e2ee.AllDevices)
)

const NoMemory MemorySlot = "none"

const GeminiEmbeddings EmbeddingSlot = "gemini"

func (d *Devices) UnmarshalText(text []byte) error {
	return oneOf(d, text, FirstSeen, CrossSigned, AllDevices)
}
func (m *MemorySlot) UnmarshalText(text []byte) error { return oneOf(m, text, "files", NoMemory) }
func (e *EmbeddingSlot) UnmarshalText(text []byte) error {
	return oneOf(e, text, "none", GeminiEmbeddings)
}
func (r *Runtime) UnmarshalText(text []byte) error {
	return oneOf(r, text, sandbox.GVisor)
}

func (p *Proof) UnmarshalText(text []byte) error {
	*p = Proof(strings.ToLower(string(text)))
	if !policy.IsProof(policy.Proof(*p)) {
		return errValue
	}
	return nil
}

// oneOf reads one of a few words, in upper or lower case.
func oneOf[T ~string](to *T, text []byte, all ...T) error {
	if *to = T(strings.ToLower(string(text))); slices.Contains(all, *to) {
		return nil
	}
	return errValue
}

func (l *Level) UnmarshalText(text []byte) error {
	switch level, err := zerolog.ParseLevel(strings.ToLower(string(text))); {
	case err != nil || level < zerolog.TraceLevel || level > zerolog.ErrorLevel:
		return errValue
	default:
		*l = Level(level)
		return nil
	}
}

func (s *SocketURI) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "unix" || u.Host != "" || !filepath.IsAbs(u.Path) {
		return errValue
	}
	*s = SocketURI("unix://" + u.Path)
	return nil
}

// Without a host it is loopback, even for ":8080", which elsewhere means every address: whoever wants to be reached
// from outside must say so.
func (l *Listen) UnmarshalText(text []byte) error {
	address := string(text)
	if isPort(address) {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isPort(port) || strings.ContainsFunc(host,
		func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' }) {
		return errValue
	}
	if host == "" {
		host = "127.0.0.1"
	}
	*l = Listen(net.JoinHostPort(host, port))
	return nil
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func (f *Folder) UnmarshalText(text []byte) error {
	if !filepath.IsAbs(string(text)) {
		return errValue
	}
	*f = Folder(filepath.Clean(string(text)))
	return nil
}

func (w *Word) UnmarshalText(text []byte) error {
	for i, r := range string(text) {
		if r <= ' ' || r == 0x7f || i == 0 && r == '-' {
			return errValue
		}
	}
	*w = Word(text)
	return nil
}
