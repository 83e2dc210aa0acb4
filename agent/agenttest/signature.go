package agenttest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
)

// Google's sentences about thought signatures. Sources: QwenLM/qwen-code#1202, RooCodeInc/Roo-Code#10331.
const (
	noSignature = "Function call is missing a thought_signature in functionCall parts. This is required for tools to " +
		"work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function " +
		"call `%s`, position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
	badSignature = "Thought signature is not valid."
)

// dummies are the signatures that Google accepts in place of its own:
// https://ai.google.dev/gemini-api/docs/thought-signatures. Gemini CLI sends the first for each call of the current
// turn that has none (ensureActiveLoopHasThoughtSignatures in packages/core/src/core/geminiChat.ts).
var dummies = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

// sign returns the signature of a function call. It is made of the call alone, so that a server that has been started
// again recognizes it.
func sign(name string, args map[string]any) []byte {
	data, _ := json.Marshal(args) // cannot fail: Load has checked it
	var plain any
	_ = json.Unmarshal(data, &plain) // one form for 1 and 1.0
	data, _ = json.Marshal([]any{"scripted model", name, plain})
	sum := sha256.Sum256(data)
	return append([]byte("scripted"), sum[:16]...)
}

// checkSignatures refuses a signature that the server did not make, and a function call of the current turn without
// one. Of parallel calls only the first has one.
func checkSignatures(contents []*pb.Content) *refusal {
	current := currentTurn(contents)
	for i, c := range contents {
		first := true
		for j, p := range c.Parts {
			call := p.GetFunctionCall()
			if call == nil {
				continue
			}
			switch {
			case len(p.ThoughtSignature) > 0:
				if !known(p.ThoughtSignature, call) {
					return invalid(badSignature).because("contents[%d].parts[%d]", i, j)
				}
			case first && i > current:
				return invalid(noSignature, call.Name, j+1).because("contents[%d].parts[%d]", i, j)
			}
			first = false
		}
	}
	return nil
}

func known(signature []byte, call *pb.FunctionCall) bool {
	return slices.Contains(dummies, base64.URLEncoding.EncodeToString(signature)) ||
		slices.Equal(signature, sign(call.Name, call.Args.AsMap()))
}

// currentTurn returns the index of the newest content in which the user says something, or -1. Text next to a function
// response begins no turn.
func currentTurn(contents []*pb.Content) int {
	for i, c := range slices.Backward(contents) {
		says, responds := false, false
		for _, p := range c.Parts {
			says = says || p.GetText() != "" || p.GetInlineData() != nil || p.GetFileData() != nil
			responds = responds || p.GetFunctionResponse() != nil
		}
		if c.Role != "model" && says && !responds {
			return i
		}
	}
	return -1
}
