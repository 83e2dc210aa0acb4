package boxinit

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// alwaysClosed are tried in each pod: the metadata services of clouds, and servers that answer everyone.
var alwaysClosed = []string{"169.254.169.254:80", "[fd00:ec2::254]:80", "1.1.1.1:443", "8.8.8.8:53"}

const (
	tryTime = 1500 * time.Millisecond // for an answer
	// believed is how long an address counts as closed without being tried again.
	believed = 24 * time.Hour
	dnsPort  = 53
	// maxTried bounds the addresses, and so the descriptors.
	maxTried = 128
)

// network finds out whether a pod's network is closed, as the cluster promises. Only a trial tells: from inside, a
// policy that no part of the cluster enforces looks the same.
type network struct {
	mu     sync.Mutex           // held while addresses are tried
	closed map[string]time.Time // when nothing answered there

	// Tests set these; zero = as above.
	always []string
	wait   time.Duration
	domain uint16
	now    func() time.Time
}

// open says at which addresses something answers: of these, and of those that are always tried. An address at which
// nothing answered is not tried again for a day.
func (n *network) open(addresses []string) (weak []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, always, wait := time.Now, alwaysClosed, cmp.Or(n.wait, tryTime)
	if n.now != nil {
		now = n.now
	}
	if n.always != nil {
		always = n.always
	}
	all := slices.Concat(always, addresses)
	if server := fromEnv(); server != "" {
		all = append(all, server)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	all = slices.DeleteFunc(all, func(address string) bool {
		at, ok := n.closed[address]
		return ok && now().Sub(at) < believed
	})
	if len(all) > maxTried {
		return []string{fmt.Sprintf("the network is unknown: %d addresses are too many to try", len(all))}
	}
	if n.closed == nil {
		n.closed = make(map[string]time.Time)
	}
	for address, wrong := range tryAll(all, wait, cmp.Or(n.domain, dnsPort)) {
		if wrong == "" {
			n.closed[address] = now()
			continue
		}
		delete(n.closed, address)
		weak = append(weak, wrong)
	}
	slices.Sort(weak)
	return weak
}

// tryEarly begins to try the network of a pod that has reached the bot, so that the first run finds an answer or waits
// less for it. It returns a function that waits for the end.
func (n *network) tryEarly() (wait func()) {
	var trying sync.WaitGroup
	if list, ok := os.LookupEnv(PodEnv); ok {
		trying.Go(func() { n.open(strings.Split(list, ",")) })
	}
	return trying.Wait
}
