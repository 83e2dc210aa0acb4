package agenttest

import (
	"net/http"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
)

// Google's sentences about histories. Sources: google-gemini/gemini-cli#16543, #16437, #16984, #5443, #6638.
const (
	responseCount = "Please ensure that the number of function response parts is equal to the number of function call " +
		"parts of the function call turn."
	callOrder = "Please ensure that function call turn comes immediately after a user turn or after a function " +
		"response turn."
	responseOrder = "Please ensure that function response turn comes immediately after a function call turn."
	validRole     = "Please use a valid role: user, model."
	userFirst     = "Please ensure that multiturn requests start with a user role."
	userLast      = "Please ensure that multiturn requests end with a user role or a function response."
)

// checkTurns refuses a history whose turns are out of order, or in which a call and its response do not pair up.
func checkTurns(contents []*pb.Content) *refusal {
	var before turn
	for i, c := range contents {
		now, r := readTurn(c)
		if r == nil {
			r = now.follows(before, i == 0)
		}
		if r != nil {
			return r.because("contents[%d]", i)
		}
		before = now
	}
	switch {
	case len(before.calls) > 0:
		return refuseHistory(responseCount).because("the last content calls")
	case before.model:
		return refuseHistory(userLast)
	}
	return nil
}

func refuseHistory(sentence string) *refusal {
	return &refusal{code: http.StatusBadRequest, message: sentence}
}

// turn is what the order of contents depends on.
type turn struct {
	model     bool
	calls     map[named]int
	responses map[named]int
}

// named identifies a call. Its response has the same ID and name.
type named struct{ id, name string }

func readTurn(c *pb.Content) (turn, *refusal) {
	t := turn{model: c.Role == "model", calls: map[named]int{}, responses: map[named]int{}}
	// The API treats content without a role as the user's.
	if !t.model && c.Role != "user" && c.Role != "" {
		return t, refuseHistory(validRole)
	}
	for _, p := range c.Parts {
		if f := p.GetFunctionCall(); f != nil {
			t.calls[named{f.Id, f.Name}]++
		}
		if f := p.GetFunctionResponse(); f != nil {
			t.responses[named{f.Id, f.Name}]++
		}
	}
	return t, nil
}

// follows refuses a turn that may not come after another.
func (t turn) follows(before turn, first bool) *refusal {
	switch {
	case len(t.calls) > 0 && (!t.model || first || before.model):
		return refuseHistory(callOrder)
	case len(t.responses) > 0 && (t.model || len(before.calls) == 0):
		return refuseHistory(responseOrder)
	case first && t.model:
		return refuseHistory(userFirst)
	case len(before.calls) == 0:
		return nil
	case len(t.responses) != len(before.calls):
		return refuseHistory(responseCount)
	}
	for call, n := range before.calls {
		if t.responses[call] != n {
			return refuseHistory(responseCount)
		}
	}
	return nil
}
