package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
)

// errIncomplete means that a successful answer lacks what the specification requires, such as the empty object that a
// broken proxy returns. To callers it is a request without an answer: they retry.
var errIncomplete = errors.New("incomplete answer from the homeserver")

// required are the keys without which an answer would be misunderstood: a message would be taken as sent, a room as
// joined or as empty, a person as one without devices. Clients check /sync and /messages, which may be large,
// themselves.
var required = []struct {
	request *regexp.Regexp // method and path
	key     string
}{
	{regexp.MustCompile(`^PUT .*/rooms/[^/]+/(send|redact|state)/`), "event_id"},
	{regexp.MustCompile(`^POST .*/rooms/[^/]+/join$`), "room_id"},
	{regexp.MustCompile(`^GET .*/rooms/[^/]+/joined_members$`), "joined"},
	{regexp.MustCompile(`^GET .*/rooms/[^/]+/members$`), "chunk"},
	{regexp.MustCompile(`^GET .*/rooms/[^/]+/state/m\.room\.member/`), "membership"},
	{regexp.MustCompile(`^GET .*/joined_rooms$`), "joined_rooms"},
	{regexp.MustCompile(`^POST .*/keys/query$`), "device_keys"},
	{regexp.MustCompile(`^POST .*/keys/claim$`), "one_time_keys"},
	{regexp.MustCompile(`^POST .*/keys/upload$`), "one_time_key_counts"},
	{regexp.MustCompile(`^POST .*/login$`), "access_token"},
	{regexp.MustCompile(`^GET .*/account/whoami$`), "user_id"},
	{regexp.MustCompile(`^POST .*/media/.*/upload$`), "content_uri"},
}

// complete turns incomplete answers into errors.
type complete struct{ next http.RoundTripper }

// RoundTrip is part of [http.RoundTripper].
func (c *complete) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	for _, r := range required {
		if r.request.MatchString(req.Method + " " + req.URL.Path) {
			return require(resp, r.key)
		}
	}
	return resp, nil
}

// require reads the answer, which must be an object with this key.
func require(resp *http.Response, key string) (*http.Response, error) {
	body, err := io.ReadAll(resp.Body)
	err = errors.Join(err, resp.Body.Close())
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(body, &keys); err != nil {
		return nil, fmt.Errorf("%w: %w", errIncomplete, err)
	}
	if value := string(keys[key]); value == "" || value == "null" || value == `""` {
		return nil, fmt.Errorf("%w: it has no %s", errIncomplete, key)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
