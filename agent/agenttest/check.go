package agenttest

import (
	"fmt"
	"strings"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
)

// refuse returns what Google would refuse in the body of a method, or nil.
func refuse(method string, body []byte) *refusal {
	switch method {
	case "embedContent", "batchEmbedContents":
		_, r := embedRequests(method, body)
		return r
	case "countTokens":
		var req pb.CountTokensRequest
		if r := decode(body, &req); r != nil {
			return r
		}
		if inner := req.GenerateContentRequest; inner != nil {
			return check(inner)
		}
		return check(&pb.GenerateContentRequest{Contents: req.Contents})
	}
	var req pb.GenerateContentRequest
	if r := decode(body, &req); r != nil {
		return r
	}
	return check(&req)
}

const maxBatch = 100 // texts in a batchEmbedContents request

// embedRequests reads a request for embeddings.
func embedRequests(method string, body []byte) ([]*pb.EmbedContentRequest, *refusal) {
	var batch pb.BatchEmbedContentsRequest
	if method == "embedContent" {
		var one pb.EmbedContentRequest
		if r := decode(body, &one); r != nil {
			return nil, r
		}
		batch.Requests = []*pb.EmbedContentRequest{&one}
	} else if r := decode(body, &batch); r != nil {
		return nil, r
	}
	if n := len(batch.Requests); n == 0 || n > maxBatch {
		return nil, invalid("* BatchEmbedContentsRequest.requests: at most %d requests can be in one batch", maxBatch)
	}
	for i, one := range batch.Requests {
		if method != "embedContent" && !strings.HasPrefix(one.Model, "models/") {
			return nil, invalid("* BatchEmbedContentsRequest.requests[%d].model: unexpected model name format", i)
		}
		if plain(one.Content) == "" {
			return nil, invalid("* EmbedContentRequest.content: content is empty").because("requests[%d]", i)
		}
		if n := one.GetOutputDimensionality(); n < 0 || n > maxDimensions {
			return nil, invalid("* EmbedContentRequest.output_dimensionality: out of range")
		}
	}
	return batch.Requests, nil
}

// check returns what Google would refuse in a request to generate, or nil.
func check(req *pb.GenerateContentRequest) *refusal {
	if len(req.Contents) == 0 {
		return invalid("* GenerateContentRequest.contents: contents is not specified")
	}
	if s := req.SystemInstruction; s != nil {
		if r := checkParts("system_instruction", s.Parts); r != nil {
			return r
		}
	}
	for i, c := range req.Contents {
		if r := checkParts(fmt.Sprintf("contents[%d]", i), c.Parts); r != nil {
			return r
		}
	}
	if r := checkTurns(req.Contents); r != nil {
		return r
	}
	if r := checkSignatures(req.Contents); r != nil {
		return r
	}
	return checkTools(req.Tools)
}

// checkParts refuses a content without parts, a part without data, and an empty text that is all there is.
func checkParts(where string, parts []*pb.Part) *refusal {
	if len(parts) == 0 {
		return emptyParts(where)
	}
	for i, p := range parts {
		if p.Data == nil {
			return invalid("* GenerateContentRequest.%s.parts[%d].data: required oneof field 'data' must have one initialized "+
				"field", where, i)
		}
	}
	if text, ok := parts[0].Data.(*pb.Part_Text); ok && len(parts) == 1 && text.Text == "" {
		return emptyParts(where)
	}
	return nil
}

func emptyParts(where string) *refusal {
	return invalid("* GenerateContentRequest.%s.parts: contents.parts must not be empty.", where)
}
