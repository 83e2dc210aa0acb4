package matrix

import (
	"fmt"
	"html"
	"strings"

	"matrix-tui/bot/text"
	"matrix-tui/state"
	"matrix-tui/state/event"
)

const (
	// maxEvent is the maximum size of an event's content in bytes. An event may have
	// 64 KiB, including the server's own fields and signatures
	// (https://spec.matrix.org/v1.11/client-server-api/#size-limits), and encryption
	// adds a third to the content.
	maxEvent = 44 << 10
	// partSize is the size of Markdown that is tried first for one message, in bytes.
	partSize = 16 << 10
	// MaxParts is the maximum number of messages for one text. A longer text is sent
	// as its beginning and a file.
	MaxParts = 6
	// maxNotice is the maximum size of the content of an edit to a notice, in bytes of
	// JSON. Encrypted, which adds a third, it stays under 20 KB.
	maxNotice = 13 << 10

	formatHTML = "org.matrix.custom.html"
)

// fold makes the text of a message the summary of details, in Markdown. Clients show them when it is clicked.
func (c *content) fold(details string) {
	c.FormattedBody = "<details><summary>" + c.formatted() + "</summary>" + rendered(details).formatted() + "</details>"
	c.Format = formatHTML
}

// small adds a last line in small letters, with details as in fold if there is room for them.
func (c *content) small(line, details string) {
	text := c.formatted()
	c.Format = formatHTML
	c.Body += "\n\n" + line
	small := content{FormattedBody: "<sub>" + html.EscapeString(line) + "</sub>"}
	c.FormattedBody = text + "<p>" + small.FormattedBody + "</p>"
	if details == "" {
		return
	}
	without := c.FormattedBody
	small.fold(details)
	c.FormattedBody = text + small.FormattedBody
	if len(marshal(c)) > maxEvent {
		c.FormattedBody = without
	}
}

// formatted returns the text as HTML.
func (c *content) formatted() string {
	if c.FormattedBody != "" {
		return c.FormattedBody
	}
	return strings.ReplaceAll(html.EscapeString(c.Body), "\n", "<br>")
}

// Parts splits a text into parts that fit into one event each.
func Parts(words string) []string {
	return text.Fit(words, partSize, fits)
}

// fits reports whether a part of a text, once rendered, fits into an event.
func fits(part string) bool { return len(marshal(rendered(part))) <= maxEvent }

// Long returns the parts of a text of any length. If it needs more than MaxParts messages, that is its beginning, and
// the file that upload returns. An error is upload's; the parts are valid even then.
func Long(
	words, name, whole string, upload func() (event.FileInfo, error),
) (parts []string, file *event.FileInfo, err error) {
	if len(words) <= MaxParts*partSize { // else it cannot fit
		if parts = Parts(words); len(parts) <= MaxParts {
			return parts, nil, nil
		}
	}
	beginning := text.Fit(words, partSize-512, fits)[0] // leaves room for the note
	size := text.Size(int64(len(whole)))
	uploaded, err := upload()
	if err != nil {
		const note = "\n\n… The %s is longer (%s); the rest was cut, because the homeserver did not accept it as a file."
		return Parts(beginning + fmt.Sprintf(note, name, size)), nil, err
	}
	return Parts(beginning + fmt.Sprintf("\n\n… The whole %s (%s) is in the file below.", name, size)), &uploaded, nil
}

// FitsNotice reports whether words fit into an edit of a notice.
func FitsNotice(words string) bool {
	const target = "$0123456789012345678901234567890123456789012"
	_, data := encode(state.Message{Relation: state.Edit, Target: target, Notice: true, Body: words})
	return len(data) <= maxNotice
}

// FitsHalf reports whether words fit into half of a message, so that they stay together there with others around them.
func FitsHalf(words string) bool { return len(marshal(rendered(words))) <= maxEvent/2 }
