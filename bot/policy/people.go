package policy

import (
	"slices"
	"strings"
)

// Who says which of the people whom the bot hears may do something.
type Who string

const (
	ForAll    Who = "everyone"
	ForOwners Who = "owners"
	ForNobody Who = "nobody"
)

var whos = []Who{ForAll, ForOwners, ForNobody}

// checkPeople checks a list of full user IDs and globs: @*:server is everyone on a server, @*:* everyone. There is no
// other pattern, and case matters.
func checkPeople(list []string) error {
	return each(list, MaxPeople, "entries", IsEntry,
		"a full user ID; use one like @alice:example.org, or @*:example.org for everyone on a server")
}

// IsEntry reports whether a list of people may contain the entry.
func IsEntry(entry string) bool {
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

// listHas reports whether a list of people includes a user.
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
