package agenttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// keywords are the parts of JSON Schema that the API documents, and those of its own Schema message:
// https://ai.google.dev/api/generate-content#FIELDS.response_json_schema and https://ai.google.dev/api/caching#Schema
var keywords = []string{
	"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
	"minItems", "maxItems",
	"minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering",
	"$schema", // in what Gemini CLI declares (activate_skill)
	"nullable", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "default",
}

var schemaTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

const maxSchemaDepth = 32

// checkParameters refuses a schema of parameters that the API does not take. The outermost one is an object.
func checkParameters(where string, data []byte) *refusal {
	var schema map[string]any
	if json.Unmarshal(data, &schema) != nil {
		return invalid("* GenerateContentRequest.%s: schema must be an object", where)
	}
	if !slices.Contains(typesOf(schema), "object") {
		return invalid("* GenerateContentRequest.%s.type: schema must be of type OBJECT", where)
	}
	return checkSchema(where, schema, 0)
}

func checkSchema(where string, value any, depth int) *refusal {
	schema, ok := value.(map[string]any)
	if !ok {
		return invalid("* GenerateContentRequest.%s: schema must be an object", where)
	}
	if depth > maxSchemaDepth {
		return invalid("* GenerateContentRequest.%s: schema exceeds the maximum allowed nesting depth", where)
	}
	for key := range schema {
		if !slices.Contains(keywords, key) {
			return invalid("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", key, where)
		}
	}
	types := typesOf(schema)
	for _, t := range types {
		if !slices.Contains(schemaTypes, t) {
			return invalid("* GenerateContentRequest.%s.type: unknown type %q", where, t)
		}
	}
	if slices.Contains(types, "array") && schema["items"] == nil && schema["prefixItems"] == nil {
		return invalid("* GenerateContentRequest.%s.items: missing field.", where)
	}
	enum, _ := schema["enum"].([]any)
	if i := slices.Index(enum, any("")); i >= 0 {
		return invalid("* GenerateContentRequest.%s.enum[%d]: cannot be empty", where, i)
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for i, name := range required {
		if text, ok := name.(string); !ok || properties[text] == nil {
			return invalid("* GenerateContentRequest.%s.required[%d]: property is not defined", where, i)
		}
	}
	for path, inner := range innerSchemas(schema) {
		if r := checkSchema(where+"."+path, inner, depth+1); r != nil {
			return r
		}
	}
	return nil
}

// typesOf returns the types of a schema in lower case: both spellings occur (OBJECT, object), and lists of types.
func typesOf(schema map[string]any) (types []string) {
	list, ok := schema["type"].([]any)
	if one, single := schema["type"]; single && !ok {
		list = []any{one}
	}
	for _, t := range list {
		types = append(types, strings.ToLower(fmt.Sprint(t)))
	}
	return types
}

// innerSchemas returns the schemas inside a schema by their paths.
func innerSchemas(schema map[string]any) map[string]any {
	inner := map[string]any{}
	for _, key := range []string{"items", "additionalProperties"} {
		if value, ok := schema[key]; ok && value != true && value != false {
			inner[key] = value
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "prefixItems"} {
		list, _ := schema[key].([]any)
		for i, value := range list {
			inner[fmt.Sprintf("%s[%d]", key, i)] = value
		}
	}
	for _, key := range []string{"properties", "$defs"} {
		object, _ := schema[key].(map[string]any)
		for name, value := range object {
			inner[key+"["+name+"]"] = value
		}
	}
	return inner
}
