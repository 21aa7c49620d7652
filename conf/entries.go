package conf

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// entry is one key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

// entries lists a mapping in the order of the file. Keys that are set twice are
// mistakes; what a merge key (<<) brings in stands behind the mapping's own
// keys and gives way to them.
func (d *decoder) entries(n *yaml.Node, key string) []entry {
	var own []entry
	var merges []*yaml.Node
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Kind == yaml.AliasNode {
			name = name.Alias
		}
		switch {
		case name.ShortTag() == "!!merge":
			merges = append(merges, value)
		case name.Kind != yaml.ScalarNode:
			d.fail(name, key, "a key must be a text, not %s", kindName(name))
		case seen[name.Value] != nil:
			d.fail(name, join(key, name.Value), "is set twice; the first time on line %d", seen[name.Value].Line)
		default:
			seen[name.Value] = name
			own = append(own, entry{name, value})
		}
	}
	for _, merge := range merges {
		for _, e := range d.merged(merge, key) {
			if seen[e.key.Value] == nil {
				seen[e.key.Value] = e.key
				own = append(own, e)
			}
		}
	}
	return own
}

// merged lists what a merge key brings in: a mapping, or several of which the
// first wins.
func (d *decoder) merged(n *yaml.Node, key string) []entry {
	n, leave := d.follow(n, key)
	if n == nil {
		return nil
	}
	defer leave()
	switch n.Kind {
	case yaml.MappingNode:
		return d.entries(n, key)
	case yaml.SequenceNode:
		var all []entry
		for _, item := range n.Content {
			if item.Kind == yaml.SequenceNode {
				d.fail(item, key, "<< takes anchored keys and values, or a list of them")
				continue
			}
			for _, e := range d.merged(item, key) {
				known := func(o entry) bool { return o.key.Value == e.key.Value }
				if !slices.ContainsFunc(all, known) {
					all = append(all, e)
				}
			}
		}
		return all
	}
	d.fail(n, key, "<< takes anchored keys and values, not %s", kindName(n))
	return nil
}
