package policy

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// defaultsKey is the section for all rooms.
const defaultsKey = "defaults"

// edit changes one section of a policy file and keeps the rest, with comments and layout. where is defaults or a room
// ID; change may change the section that it gets, which is never nil. The result is valid for [Parse], or nil if
// nothing changed. The errors are for people.
func edit(data []byte, where string, change func(p *Policy, s section) error) ([]byte, error) {
	if where != defaultsKey && !IsRoom(where) {
		return nil, sayf("%q is not a room ID: use one like !abc:example.org, or `%s` for all rooms.", where, defaultsKey)
	}
	if right := misnamed.FindStringSubmatch(where); right != nil {
		return nil, sayf("%q is not a room ID: the IDs of new rooms have no server. Use %s.", where, right[1])
	}
	p, err := Parse(data)
	if err != nil {
		return nil, sayf("policy.yaml is invalid, so I did not change it: %s. Fix it by hand first.", err)
	}
	was, want := p.said[where], section{}
	maps.Copy(want, was)
	if err := change(p, want); err != nil {
		return nil, err
	}
	if key, err := want.over(&Room{}, where); err != nil {
		return nil, sayf("That is not valid: %s.", wrong(where, key, err))
	}
	if reflect.DeepEqual(was, want) || len(was)+len(want) == 0 {
		return nil, nil
	}
	file, err := parser.ParseBytes(data, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if err := editable(data, file.String()); err != nil {
		return nil, err
	}
	out := write(data, file, where, was, want)
	if len(out) > MaxFile {
		return nil, sayf("That is not valid: %s.", errTooLarge)
	}
	p.said[where] = want
	if next, err := Parse(out); err != nil || !reflect.DeepEqual(next.meaning(), p.meaning()) {
		return nil, sayf("I cannot make this change to policy.yaml without changing more than that: edit it by hand.")
	}
	return out, nil
}

// meaning is what the file says, without empty sections.
func (p *Policy) meaning() map[string]section {
	all := maps.Clone(p.said)
	maps.DeleteFunc(all, func(_ string, s section) bool { return len(s) == 0 })
	return all
}

// editable refuses a file with something that an edit could break. As is the file as the library writes it.
func editable(data []byte, as string) error {
	for _, t := range lexer.Tokenize(string(data)) {
		switch comment := "#" + strings.TrimRight(t.Value, "\r "); t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return sayf("policy.yaml uses YAML anchors, where one edit can change several places: edit it by hand.")
		case token.CommentType:
			if !strings.Contains(as, comment) {
				return sayf("A comment in policy.yaml would be lost (%s): edit it by hand.", code(comment))
			}
		}
	}
	return nil
}

// write returns a file in which a section says what it should.
func write(data []byte, file *ast.File, where string, was, want section) []byte {
	at := []string{defaultsKey}
	if where != defaultsKey {
		at = []string{"rooms", where}
	}
	root, _ := file.Docs[0].Body.(*ast.MappingNode)
	for _, s := range settings {
		if reflect.DeepEqual(was[s.key], want[s.key]) {
			continue
		}
		path := append(slices.Clone(at), s.key)
		if s.limit {
			path = append(slices.Clone(at), "limits", s.key)
		}
		switch {
		case want[s.key] == nil:
			remove(root, path)
		case root == nil || len(root.Values) == 0: // nothing, comments, null or {}
			file, root = begin(data, root, newPair(path, want[s.key], 1, false))
		default:
			put(root, path, want[s.key])
		}
	}
	return append([]byte(strings.TrimRight(file.String(), "\n")), '\n')
}

// begin returns a file with one setting, after the comments of another that has none.
func begin(data []byte, root *ast.MappingNode, first *ast.MappingValueNode) (*ast.File, *ast.MappingNode) {
	text := first.String() + "\n"
	if head := bytes.TrimSpace(data); root == nil && len(head) > 0 {
		text = string(head) + "\n\n" + text
	}
	file, _ := parser.ParseBytes([]byte(text), parser.ParseComments)
	root, _ = file.Docs[0].Body.(*ast.MappingNode)
	return file, root
}

// find returns the place of a key in a mapping, or -1.
func find(m *ast.MappingNode, key string) int {
	return slices.IndexFunc(m.Values, func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == key })
}

// remove removes what is at a path, and what it leaves empty.
func remove(m *ast.MappingNode, path []string) {
	i := find(m, path[0])
	if i < 0 {
		return
	}
	if inner, ok := m.Values[i].Value.(*ast.MappingNode); ok && len(path) > 1 {
		if remove(inner, path[1:]); len(inner.Values) > 0 {
			return
		}
	}
	foot := m.Values[i].FootComment
	m.Values = slices.Delete(m.Values, i, i+1)
	if i = min(i, len(m.Values)) - 1; i >= 0 && foot != nil && m.Values[i].FootComment == nil {
		m.Values[i].FootComment = foot
	}
}

// put sets the value at a path in a mapping that is not empty. A new key comes last.
func put(m *ast.MappingNode, path []string, value any) {
	pair := newPair(path, value, m.Values[0].Key.GetToken().Position.Column, m.IsFlowStyle)
	i := find(m, path[0])
	if i < 0 {
		last := m.Values[len(m.Values)-1]
		pair.FootComment, last.FootComment = last.FootComment, nil
		m.Values = append(m.Values, pair)
		return
	}
	old := m.Values[i]
	inner, isMapping := old.Value.(*ast.MappingNode)
	have, isList := old.Value.(*ast.SequenceNode)
	list, wantsList := pair.Value.(*ast.SequenceNode)
	switch {
	case len(path) > 1 && isMapping && len(inner.Values) > 0:
		put(inner, path[1:], value)
		return
	case isList && wantsList && len(have.Values) > 0 && len(list.Values) > 0:
		merge(have, list)
		return
	}
	if comment := old.Value.GetComment(); comment != nil && len(path) > 1 {
		_ = old.Key.SetComment(comment) // it cannot fail
	} else if comment != nil {
		_ = pair.Value.SetComment(comment)
	}
	old.Value = pair.Value
}

// merge makes a list say what another says. Entries that it has keep their style and comments.
func merge(have, want *ast.SequenceNode) {
	values, heads := slices.Clone(have.Values), slices.Clone(have.ValueHeadComments)
	have.Values, have.ValueHeadComments = nil, nil
	for _, entry := range want.Values {
		var head *ast.CommentGroupNode
		text := entry.GetToken().Value
		if i := slices.IndexFunc(values, func(n ast.Node) bool { return n.GetToken().Value == text }); i >= 0 {
			entry = values[i]
			values = slices.Delete(values, i, i+1)
			if len(heads) > i {
				head = heads[i]
				heads = slices.Delete(heads, i, i+1)
			}
		}
		have.Values, have.ValueHeadComments = append(have.Values, entry), append(have.ValueHeadComments, head)
	}
}

// newPair makes a key with its value, in the column of its neighbours, or between braces like them.
func newPair(path []string, value any, column int, braces bool) *ast.MappingValueNode {
	for _, key := range slices.Backward(path) {
		value = map[string]any{key: value}
	}
	text, err := yaml.MarshalWithOptions(value, yaml.IndentSequence(true), yaml.Flow(braces))
	if err != nil {
		panic(fmt.Sprintf("write YAML: %v", err)) // unreachable: texts, numbers, and lists of texts
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		panic(fmt.Sprintf("read back YAML: %v", err))
	}
	pair := file.Docs[0].Body.(*ast.MappingNode).Values[0]
	pair.AddColumn(column - 1)
	return pair
}
