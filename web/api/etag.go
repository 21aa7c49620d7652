package api

import (
	"slices"
	"strconv"
	"strings"
)

// etag is the entity tag of a version of a shared state.
func etag(version int) string { return `"` + strconv.Itoa(version) + `"` }

// tags are the entity tags of an If-Match or If-None-Match header: any for *.
type tags struct {
	any  bool
	list []string
}

// readTags reads one. A header that is no list of entity tags is not taken for
// one that matches nothing: whoever sent it means something else.
func readTags(name, header string) (tags, error) {
	if strings.TrimSpace(header) == "*" {
		return tags{any: true}, nil
	}
	wrong := invalid("header."+name, `expected entity tags as replies have them in ETag, such as "3", with commas between them, or *`)
	var t tags
	for rest := strings.Trim(header, " \t"); rest != ""; {
		weak := strings.HasPrefix(rest, "W/")
		rest = strings.TrimPrefix(rest, "W/")
		if !strings.HasPrefix(rest, `"`) {
			return tags{}, wrong
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 {
			return tags{}, wrong
		}
		tag := rest[:end+2]
		if weak {
			tag = "W/" + tag
		}
		t.list = append(t.list, tag)
		rest = strings.TrimLeft(rest[end+2:], " \t")
		next, more := strings.CutPrefix(rest, ",")
		if rest != "" && !more {
			return tags{}, wrong
		}
		rest = strings.TrimLeft(next, " \t,")
	}
	return t, nil
}

// ifMatch reads an If-Match header; one that is not there is for all versions.
func ifMatch(header string) (tags, error) {
	if header == "" {
		return tags{any: true}, nil
	}
	return readTags("If-Match", header)
}

// strong reports whether a version matches by the strong comparison of RFC 9110,
// which a weak tag never does.
func (t tags) strong(version int) bool { return t.any || slices.Contains(t.list, etag(version)) }

// newest is the newest version up to the one given that a tag names, by the weak
// comparison; -1 for none.
func (t tags) newest(upTo int) int {
	if t.any {
		return upTo
	}
	newest := -1
	for _, tag := range t.list {
		version, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`))
		if err == nil && version <= upTo {
			newest = max(newest, version)
		}
	}
	return newest
}
