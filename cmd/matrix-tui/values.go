package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rs/zerolog"
)

// The types of the settings: each takes its text by UnmarshalText and refuses
// what cannot be meant. What would be right is said by the field's `right` tag.
type (
	// WebAddress is an http or https URL without query, fragment, user and
	// without a slash at its end.
	WebAddress string
	// UserName is a Matrix user: @name:server, or the localpart alone.
	UserName string
	// UserIDs are full Matrix user IDs.
	UserIDs []string
	// UserGlobs are user IDs, and @*:server for everybody of a server.
	UserGlobs []string
	// Devices says which devices of people are trusted in encrypted rooms.
	Devices string
	// Bytes is an amount of memory; 0 means no limit.
	Bytes int64
	// CPUs is a number of processors; 0 means no limit.
	CPUs float64
	// PIDs is a number of processes and threads; 0 means no limit.
	PIDs int64
	// Ports are TCP ports.
	Ports []uint16
	// Networks are IP networks; a single address is one of itself.
	Networks []netip.Prefix
	// Count is a whole number from 1.
	Count int
	// Seconds is a length of time that is set in seconds.
	Seconds time.Duration
	// Minutes is a length of time that is set in minutes.
	Minutes time.Duration
	// Days is a length of time that is set in days.
	Days time.Duration
	// Milliseconds is a length of time that is set in milliseconds.
	Milliseconds time.Duration
	// Megabytes is a number of bytes that is set in units of 1,048,576.
	Megabytes int64
	// Switch is true or false.
	Switch bool
	// Level is the least urgent kind of log line that is written.
	Level zerolog.Level
	// SocketURI is a unix socket in podman's notation, unix:///PATH.
	SocketURI string
	// Listen is an address to listen on, host:port; port 0 is any that is free.
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

func (n *UserName) UnmarshalText(text []byte) error {
	name := string(text)
	if strings.HasPrefix(name, "@") != strings.Contains(name, ":") || !isUser(name) {
		return errValue
	}
	*n = UserName(name)
	return nil
}

func (ids *UserIDs) UnmarshalText(text []byte) error {
	return splitUsers(string(text), false, (*[]string)(ids))
}

func (globs *UserGlobs) UnmarshalText(text []byte) error {
	return splitUsers(string(text), true, (*[]string)(globs))
}

// splitUsers parses a list separated by commas or white space. The error names the
// first invalid part.
func splitUsers(list string, globs bool, out *[]string) error {
	parts := items(list)
	for _, part := range parts {
		user := part // or, for a glob, one of the users that it stands for
		if globs && part == "@*:*" {
			user = "@any:any"
		} else if server, ok := strings.CutPrefix(part, "@*:"); ok && globs {
			user = "@any:" + server
		}
		if user[0] != '@' || !strings.Contains(user, ":") || !isUser(user) {
			return fmt.Errorf("%q is not a user ID", part)
		}
	}
	*out = parts
	return nil
}

// isUser checks a localpart or a full ID: graphic characters only, at most 255
// bytes, nothing empty.
func isUser(name string) bool {
	for _, r := range name {
		if r <= ' ' || r == 0x7f || r == ',' || r == '*' {
			return false
		}
	}
	local, server, full := strings.Cut(strings.TrimPrefix(name, "@"), ":")
	return local != "" && len(name) <= 255 && (!full || server != "" && !strings.HasPrefix(server, ":"))
}

func (b *Bytes) UnmarshalText(text []byte) error {
	number := strings.ToLower(strings.TrimSpace(string(text)))
	// 512m, 512mb, 512mib and 512M all mean what podman means by 512m.
	number = strings.TrimSuffix(strings.TrimSuffix(number, "b"), "i")
	unit := int64(1)
	if n := len(number); n > 0 {
		if at := strings.IndexByte("kmgt", number[n-1]); at >= 0 {
			unit, number = 1<<(10*(at+1)), number[:n-1]
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	size := value * float64(unit)
	if err != nil || math.IsNaN(size) || size < 0 || size > 1<<50 || size > 0 && size < minMemory {
		return errValue
	}
	*b = Bytes(size)
	return nil
}

// minMemory is the least that a container can start with.
const minMemory = 16 << 20

func (b Bytes) String() string {
	for _, unit := range []struct {
		letter string
		size   Bytes
	}{{"t", 1 << 40}, {"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}} {
		if b >= unit.size && b%unit.size == 0 {
			return strconv.FormatInt(int64(b/unit.size), 10) + unit.letter
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

func (c *CPUs) UnmarshalText(text []byte) error {
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(value) || value != 0 && value < 0.01 || value > 4096 {
		return errValue
	}
	*c = CPUs(value)
	return nil
}

func (p *Ports) UnmarshalText(text []byte) error {
	for _, one := range items(string(text)) {
		n, err := wholeNumber([]byte(one), 1, 1<<16-1)
		if err != nil {
			return errValue
		}
		*p = append(*p, uint16(n))
	}
	if len(*p) == 0 {
		return errValue
	}
	return nil
}

func (n *Networks) UnmarshalText(text []byte) error {
	for _, one := range items(string(text)) {
		network, err := netip.ParsePrefix(one)
		if address, isAddress := netip.ParseAddr(one); isAddress == nil && address.Zone() == "" {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return errValue
		}
		*n = append(*n, network.Masked())
	}
	return nil
}

// items splits a list at its commas and white space.
func items(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

func (p *PIDs) UnmarshalText(text []byte) error {
	n, err := wholeNumber(text, 0, 1<<22)
	if err != nil || n > 0 && n < 16 {
		return errValue
	}
	*p = PIDs(n)
	return nil
}

func (c *Count) UnmarshalText(text []byte) error {
	n, err := wholeNumber(text, 1, 1000)
	*c = Count(n)
	return err
}

func (s *Seconds) UnmarshalText(text []byte) error {
	n, err := wholeNumber(text, 1, 30*24*60*60)
	*s = Seconds(time.Duration(n) * time.Second)
	return err
}

func (m *Minutes) UnmarshalText(text []byte) error {
	n, err := wholeNumber(text, 1, 30*24*60)
	*m = Minutes(time.Duration(n) * time.Minute)
	return err
}

func (d *Days) UnmarshalText(text []byte) error {
	n, err := wholeNumber(text, 1, 3650)
	*d = Days(time.Duration(n) * 24 * time.Hour)
	return err
}

func (m *Milliseconds) UnmarshalText(text []byte) error {
	n, err := wholeNumber(text, 0, 60_000)
	*m = Milliseconds(time.Duration(n) * time.Millisecond)
	return err
}

func (m *Megabytes) UnmarshalText(text []byte) error {
	n, err := wholeNumber(text, 1, 1024)
	*m = Megabytes(n << 20)
	return err
}

func wholeNumber(text []byte, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < least || n > most {
		return 0, errValue
	}
	return n, nil
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
	crossSigned Devices = "cross-signed"
	allDevices  Devices = "all"
)

func (d *Devices) UnmarshalText(text []byte) error {
	*d = Devices(strings.ToLower(string(text)))
	if *d != crossSigned && *d != allDevices {
		return errValue
	}
	return nil
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

// Without a host it is loopback, also where ":8080" means every address to
// others: who wants to be reached from outside says so.
func (l *Listen) UnmarshalText(text []byte) error {
	address := string(text)
	if isPort(address) {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isPort(port) || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' }) {
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
