package policy

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// defaultsKey is the section for all rooms.
const defaultsKey = "defaults"

// edit changes one section of a policy file and keeps its comments and order. where is
// defaults or a room ID; change gets the section's mapping. The result is valid for
// [Parse], or nil if nothing changed. The errors are for people.
func edit(data []byte, where string, change func(section *yaml.Node) error) ([]byte, error) {
	if where != defaultsKey && !isRoom(where) {
		return nil, sayf("%q is not a room ID: use one like !abc:example.org, or `%s` for all rooms.", where, defaultsKey)
	}
	if right := misnamed.FindStringSubmatch(where); right != nil {
		return nil, sayf("%q is not a room ID: the IDs of new rooms have no server. Use %s.", where, right[1])
	}
	if _, err := Parse(data); err != nil {
		return nil, sayf("policy.yaml is invalid, so I did not change it: %s. Fix it by hand first.", err)
	}
	doc, head, err := load(data)
	if err != nil {
		return nil, err
	}
	within := doc.Content[0]
	if where != defaultsKey {
		within = mappingAt(within, "rooms")
	}
	section := mappingAt(within, where)
	if err := change(section); err != nil {
		return nil, err
	}
	if len(section.Content) == 0 {
		removeAt(within, where)
		if where != defaultsKey && len(within.Content) == 0 {
			removeAt(doc.Content[0], "rooms")
		}
	}
	return finish(data, head, doc, where)
}

// reset removes a section from a policy file, as edit does.
func reset(data []byte, where string) ([]byte, error) {
	return edit(data, where, func(section *yaml.Node) error {
		section.Content = nil
		return nil
	})
}

// load parses a valid file. A file with only comments has no document: the comments become its head.
func load(data []byte) (doc *yaml.Node, head []byte, err error) {
	doc = &yaml.Node{}
	err = yaml.Unmarshal(data, doc)
	if err != nil {
		return nil, nil, err
	}
	if doc.Kind == 0 {
		if head = bytes.TrimRight(data, "\r\n\t "); len(head) > 0 {
			head = append(head, "\n\n"...)
		}
		doc.Kind, doc.Content = yaml.DocumentNode, []*yaml.Node{{Kind: yaml.MappingNode}}
		return doc, head, nil
	}
	if hasAlias(doc) {
		return nil, nil, sayf("policy.yaml uses YAML anchors, where one edit can change several places: edit it by hand.")
	}
	same, err := encode(doc)
	if err != nil {
		return nil, nil, err
	}
	for comment := range comments(data) {
		if !bytes.Contains(same, []byte(comment)) {
			return nil, nil, sayf("A comment in policy.yaml would be lost (%s): edit it by hand.", code(comment))
		}
	}
	if root := doc.Content[0]; root.Kind != yaml.MappingNode { // null
		emptyMapping(root)
	}
	return doc, nil, nil
}

// finish writes the document, and fails if the result would contain more than the
// change.
func finish(data, head []byte, doc *yaml.Node, where string) ([]byte, error) {
	out, err := encode(doc)
	if err != nil {
		return nil, err
	}
	out = append(head, out...)
	if _, err := Parse(out); err != nil {
		return nil, sayf("That is not valid: %s.", err)
	}
	before, err := meaning(data)
	if err != nil {
		return nil, err
	}
	after, err := meaning(out)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(before, after) {
		return nil, nil
	}
	delete(before, where)
	delete(after, where)
	if !reflect.DeepEqual(before, after) {
		return nil, sayf("I cannot make this change to policy.yaml without changing more than that: edit it by hand.")
	}
	return out, nil
}

// meaning returns the content of a file by section, without empty sections.
func meaning(data []byte) (map[string]any, error) {
	var f struct {
		Defaults map[string]any            `yaml:"defaults"`
		Rooms    map[string]map[string]any `yaml:"rooms"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	all := map[string]any{}
	if len(f.Defaults) > 0 {
		all[defaultsKey] = f.Defaults
	}
	for room, said := range f.Rooms {
		if len(said) > 0 {
			all[room] = said
		}
	}
	return all, nil
}

func encode(doc *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

// comments returns the parts of a file that look like comments.
func comments(data []byte) map[string]struct{} {
	found := map[string]struct{}{}
	for line := range strings.Lines(string(data)) {
		for at := range line {
			if line[at] == '#' && (at == 0 || line[at-1] == ' ' || line[at-1] == '\t') {
				found[strings.TrimSpace(line[at:])] = struct{}{}
				break
			}
		}
	}
	return found
}

func hasAlias(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Tag == "!!merge" {
		return true
	}
	for _, child := range n.Content {
		if hasAlias(child) {
			return true
		}
	}
	return false
}
