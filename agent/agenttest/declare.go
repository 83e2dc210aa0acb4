package agenttest

import (
	"fmt"
	"regexp"

	pb "cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"
	"google.golang.org/protobuf/encoding/protojson"
)

// functionName is what the API accepts: https://ai.google.dev/api/caching#FunctionDeclaration
var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

const badName = "* GenerateContentRequest.%s.name: Invalid function name. Must start with a letter or an underscore. " +
	"Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length " +
	"of 64."

// checkTools refuses declarations that the API does not take.
func checkTools(tools []*pb.Tool) *refusal {
	declared := map[string]bool{}
	other := false
	for i, tool := range tools {
		search := tool.GoogleSearch != nil || tool.GoogleSearchRetrieval != nil || tool.UrlContext != nil ||
			tool.CodeExecution != nil
		if len(tool.FunctionDeclarations) == 0 && !search {
			return invalid("* GenerateContentRequest.tools[%d].tool_type: required one_of 'tool_type' must have one "+
				"initialized field", i)
		}
		other = other || search
		for j, f := range tool.FunctionDeclarations {
			where := fmt.Sprintf("tools[%d].function_declarations[%d]", i, j)
			if r := checkFunction(where, f); r != nil {
				return r.because("function %s", f.Name)
			}
			if declared[f.Name] {
				return invalid("Duplicate function declaration found: %s", f.Name)
			}
			declared[f.Name] = true
		}
	}
	if other && len(declared) > 0 {
		return invalid("Tool use with function calling is unsupported")
	}
	return nil
}

func checkFunction(where string, f *pb.FunctionDeclaration) *refusal {
	switch {
	case !functionName.MatchString(f.Name):
		return invalid(badName, where)
	case f.Description == "":
		return invalid("* GenerateContentRequest.%s.description: must be specified", where)
	case f.Parameters != nil && f.ParametersJsonSchema != nil:
		return invalid("* GenerateContentRequest.%s: only one of parameters and parameters_json_schema may be set", where)
	}
	if f.Parameters != nil {
		data, err := protojson.Marshal(f.Parameters)
		if err != nil {
			return invalid("* GenerateContentRequest.%s.parameters: %v", where, err)
		}
		return checkParameters(where+".parameters", data)
	}
	if f.ParametersJsonSchema != nil {
		data, err := protojson.Marshal(f.ParametersJsonSchema)
		if err != nil {
			return invalid("* GenerateContentRequest.%s.parameters_json_schema: %v", where, err)
		}
		return checkParameters(where+".parameters_json_schema", data)
	}
	return nil
}
