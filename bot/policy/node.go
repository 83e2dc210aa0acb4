package policy

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// valueAt returns the value of a key in a mapping, or nil.
func valueAt(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// putAt sets the value of a key in a mapping; a new key comes last.
func putAt(mapping *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			value.LineComment = mapping.Content[i+1].LineComment
			mapping.Content[i+1] = value
			return
		}
	}
	if len(mapping.Content) == 0 {
		mapping.Style &^= yaml.FlowStyle // {} becomes a block of lines
	}
	mapping.Content = append(mapping.Content, scalar(key, quoting(key)), value)
}

// removeAt removes a key from a mapping.
func removeAt(mapping *yaml.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// mappingAt returns the mapping at a key, and creates it if it is missing or null.
func mappingAt(mapping *yaml.Node, key string) *yaml.Node {
	value := valueAt(mapping, key)
	if value == nil {
		value = &yaml.Node{Kind: yaml.MappingNode}
		putAt(mapping, key, value)
	} else if value.Kind != yaml.MappingNode {
		emptyMapping(value)
	}
	return value
}

// emptyMapping turns a null into a mapping, and moves its comment, which cannot follow a mapping.
func emptyMapping(n *yaml.Node) {
	if n.HeadComment == "" {
		n.HeadComment = n.LineComment
	}
	n.Kind, n.Tag, n.Value, n.Style, n.LineComment = yaml.MappingNode, "", "", 0, ""
}

func scalar(value string, style yaml.Style) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: style}
}

// quoting returns the style of a text: words of the schema are not quoted.
func quoting(text string) yaml.Style {
	for _, r := range text {
		if (r < 'a' || r > 'z') && r != '_' {
			return yaml.DoubleQuotedStyle
		}
	}
	return 0
}

// putList sets the list at a key. Existing entries keep their style and comments.
func putList(mapping *yaml.Node, key string, list []string) {
	old := valueAt(mapping, key)
	if old == nil || old.Kind != yaml.SequenceNode {
		old = &yaml.Node{Kind: yaml.SequenceNode}
		putAt(mapping, key, old)
	}
	had := old.Content
	if len(had) == 0 {
		old.Style &^= yaml.FlowStyle
	}
	old.Content = nil
	for _, entry := range list {
		i := slices.IndexFunc(had, func(n *yaml.Node) bool { return n.Value == entry })
		if i >= 0 {
			old.Content = append(old.Content, had[i])
			had = slices.Delete(slices.Clone(had), i, i+1)
		} else {
			old.Content = append(old.Content, scalar(entry, yaml.DoubleQuotedStyle))
		}
	}
}

// listAt returns the list at a key; nil means none.
func listAt(mapping *yaml.Node, key string) []string {
	node := valueAt(mapping, key)
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	list := make([]string, 0, len(node.Content))
	for _, n := range node.Content {
		list = append(list, n.Value)
	}
	return list
}
