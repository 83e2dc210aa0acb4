package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// streaming is the form of an answer, chosen by the method and by alt.
type streaming int

const (
	single    streaming = iota // generateContent
	sse                        // streamGenerateContent?alt=sse
	array                      // streamGenerateContent
	binary                     // generateContent?alt=proto
	binaryAll                  // streamGenerateContent?alt=proto: a google.rpc.StreamBody
)

// parameters are the names that the API takes in a query: https://cloud.google.com/apis/docs/system-parameters
const parameters = " alt $alt key $key fields $fields prettyPrint $prettyPrint quotaUser access_token callback "

// form returns the form of the answer to a method.
func form(method string, query url.Values) (streaming, *refusal) {
	for name := range query {
		if !strings.Contains(parameters, " "+name+" ") {
			return single, invalid("Invalid JSON payload received. Unknown name %q: Cannot bind query parameter. Field '%s' "+
				"could not be found in request message.", name, name)
		}
	}
	alt := query.Get("alt")
	if alt == "" {
		alt = query.Get("$alt")
	}
	stream := method == "streamGenerateContent"
	switch {
	case stream && alt == "sse":
		return sse, nil
	case stream && alt == "proto":
		return binaryAll, nil
	case stream && (alt == "" || alt == "json"):
		return array, nil
	case method == "generateContent" && alt == "proto":
		return binary, nil
	case alt == "" || alt == "json":
		return single, nil
	}
	return single, invalid("Invalid alt value %q for %s", alt, method)
}

// frame sets the type of the answer and returns what is around the replies.
func (m streaming) frame(w http.ResponseWriter) (before, after, between string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	switch m {
	case sse:
		w.Header().Set("Content-Type", "text/event-stream")
	case array:
		return "[", "\n]\n", ",\r\n"
	case binary, binaryAll:
		w.Header().Set("Content-Type", "application/x-protobuf")
	}
	return "", "", ""
}

// encode writes one reply in its form.
func (m streaming) encode(r reply) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil || m == single || m == array {
		return data, err
	}
	if m == sse {
		return fmt.Appendf(nil, "data: %s\r\n\r\n", data), nil
	}
	var message pb.GenerateContentResponse
	// What is newer than the published message (responseId) has no number here.
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, &message); err != nil {
		return nil, err
	}
	if data, err = proto.Marshal(&message); err != nil || m == binary {
		return data, err
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), data), nil
}

// send writes the rule's answer, with its pauses. It panics with http.ErrAbortHandler to cut the connection.
func (r *Rule) send(ctx context.Context, w http.ResponseWriter, mode streaming, out []reply, refused *refusal) {
	if !pause(ctx, r.Hang) || !pause(ctx, r.Delay) {
		panic(http.ErrAbortHandler)
	}
	switch {
	case r.silent():
		panic(http.ErrAbortHandler)
	case refused != nil && strings.HasPrefix(strings.TrimSpace(refused.message), "{"):
		sendBody(w, refused.code, refused.message) // an error as it is
		return
	case refused != nil:
		refused.write(w, mode)
		return
	case r.Garbage:
		mode.frame(w)
		begin := ""
		if mode == sse {
			begin = "data: "
		}
		_, _ = io.WriteString(w, begin+"{\"candidates\": [{\"cont\x00\xff <html>this is not JSON\r\n\r\n")
		return
	}
	rc := http.NewResponseController(w)
	before, after, between := mode.frame(w)
	_, _ = io.WriteString(w, before)
	for i, o := range out {
		if i > 0 {
			_, _ = io.WriteString(w, between)
			if !pause(ctx, r.ChunkDelay) {
				panic(http.ErrAbortHandler)
			}
		}
		data, err := mode.encode(o)
		if err != nil {
			panic(http.ErrAbortHandler) // cannot happen: Load has checked it
		}
		cut := r.Break && i == len(out)-1
		if cut {
			data = data[:len(data)/2]
		}
		_, _ = w.Write(data)
		_ = rc.Flush()
		if cut {
			panic(http.ErrAbortHandler)
		}
	}
	_, _ = io.WriteString(w, after)
}

// pause waits for d; it returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
