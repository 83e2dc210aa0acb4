package policy

import (
	"fmt"
	"slices"
	"strings"
)

// people is a list of full user IDs and globs: @*:server is everyone on a server, @*:*
// everyone. There is no other pattern, and case matters.
type people struct {
	users   map[string]struct{}
	servers map[string]struct{} // "*" is all of them
	list    []string            // as written
}

func newPeople(list []string) (*people, error) {
	if len(list) > MaxPeople {
		return nil, fmt.Errorf("more than %d entries", MaxPeople)
	}
	p := &people{users: map[string]struct{}{}, servers: map[string]struct{}{}, list: list}
	for _, entry := range list {
		if !isEntry(entry) {
			return nil, fmt.Errorf("%q is not a full user ID; use one like @alice:example.org, or @*:example.org for everyone on a server", entry)
		}
		if server, ok := strings.CutPrefix(entry, "@*:"); ok {
			p.servers[server] = struct{}{}
		} else {
			p.users[entry] = struct{}{}
		}
	}
	return p, nil
}

// isEntry reports whether a list of people may contain the entry.
func isEntry(entry string) bool {
	if entry == "@*:*" {
		return true
	}
	user := entry
	if server, ok := strings.CutPrefix(entry, "@*:"); ok {
		user = "@any:" + server
	}
	return isUser(user)
}

// isUser reports whether a name is a full user ID that a file can contain.
func isUser(user string) bool {
	local, server, full := strings.Cut(user, ":")
	return full && len(user) <= 255 && len(local) > 1 && local[0] == '@' && server != "" && server[0] != ':' &&
		isWord(user) && !strings.ContainsAny(user, ",*")
}

// has reports whether the list includes a user.
func (p *people) has(user string) bool {
	if p == nil {
		return false
	}
	if _, ok := p.users[user]; ok {
		return true
	}
	if len(p.servers) == 0 {
		return false
	}
	server, ok := serverOf(user)
	if !ok {
		return false
	}
	if _, ok = p.servers[server]; !ok {
		_, ok = p.servers["*"]
	}
	return ok
}

// listHas is has for a list from elsewhere, such as the settings.
func listHas(list []string, user string) bool {
	server, ok := serverOf(user)
	return slices.ContainsFunc(list, func(entry string) bool {
		if entry == user {
			return true
		}
		of, glob := strings.CutPrefix(entry, "@*:")
		return glob && ok && (of == server || of == "*")
	})
}

func serverOf(user string) (string, bool) {
	local, server, ok := strings.Cut(user, ":")
	return server, ok && strings.HasPrefix(local, "@")
}
