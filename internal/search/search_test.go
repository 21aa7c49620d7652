package search_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"legwork/internal/search"
)

func ids(hits []search.Hit) string {
	var list []string
	for _, h := range hits {
		list = append(list, h.ID)
	}
	return strings.Join(list, " ")
}

// docs makes texts named a, b, c and so on.
func docs(texts ...string) []search.Doc {
	var list []search.Doc
	for i, text := range texts {
		list = append(list, search.Doc{ID: string(rune('a' + i)), Text: text})
	}
	return list
}

func TestSearch(t *testing.T) {
	notes := docs(
		"My dog is called Rex and is allergic to chicken",                  // a
		"The flights to Shanghai leave from Beijing Daxing",                // b
		"Собаку зовут Шарик, у него аллергия на молоко",                    // c
		"Бронирование гостиницы в Казани, заезд ёлками 5 декабря",          // d
		"他最喜欢的饮料是绿茶，每天喝三杯",                                                 // e
		"北京的酒店要预订到十二月",                                                     // f
		"東京タワーの近くのレストラン",                                                   // g
		"She likes café crème, naïve art and the iPhone 17",                // h
		"github.get_issue_comments: returns the comments of an issue",      // i
		"gitlab.listMergeRequests: lists the merge requests of a project",  // j
		"HTTPServer restarts; sha256 of v2 is in repository legwork-tools", // k
		"서울에서 커피를 마신다",                                                     // l
	)
	x := search.New(notes)
	tests := []struct{ name, query, want string }{
		{"English forms", "dogs", "a"},
		{"English verb", "leaving flight", "b"},
		{"English, stems apart", "allergies", "a"},
		{"common words do not count", "the name of the dog is what", "a"},
		{"only common words", "from", "b"},
		{"Russian case", "собака", "c"},
		{"Russian noun", "аллергией молока", "c"},
		{"Russian verb of a noun", "бронировать", "d"},
		{"Russian ё", "елка", "d"},
		{"Russian capitals", "ГОСТИНИЦА", "d"},
		{"Chinese word", "绿茶", "e"},
		{"Chinese sentence", "他喜欢什么", "e"},
		{"Chinese single character", "茶", "e"},
		{"Chinese, only characters in common", "茶水", "e"},
		{"Chinese, two of them", "预订酒店", "f"},
		{"Japanese", "タワー", "g"},
		{"Korean with another ending", "커피가", "l"},
		{"accents", "cafe creme", "h"},
		{"combining accents", "cafe\u0301", "h"},
		{"full width", "ｉＰｈｏｎｅ", "h"},
		{"humps, written together", "iphone", "h"},
		{"parts of an identifier", "issue comment", "i"},
		{"identifier for words", "merge_request", "j"},
		{"humps in the query", "mergeRequest", "j"},
		{"humps with capitals", "http server", "k"},
		{"letters and digits", "SHA256", "k"},
		{"beginning of a word", "repo", "k"},
		{"two languages", "Казань 绿茶", "d e"},
		{"nothing in common", "xylophone", ""},
		{"empty", "", ""},
		{"punctuation", "?! — …", ""},
		{"not UTF-8", "\xff\xfe dog", "a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ids(x.Search(test.query, 3)); got != test.want {
				t.Errorf("Search(%q) found %q, want %q", test.query, got, test.want)
			}
		})
	}
}

func TestRank(t *testing.T) {
	tests := []struct {
		name, query, want string
		texts             []string
	}{
		{"more of the words first", "cheap flight beijing", "c b a", []string{"a flight", "a flight to Beijing", "a cheap flight to Beijing"}},
		{"rare words weigh more", "comment issue", "d a b c", []string{"issue one", "issue two", "issue three", "comment four"}},
		{"short texts before long ones", "tea", "b a", []string{"tea and a great many other things that people drink in the morning", "tea is good"}},
		{"repetition helps", "tea", "b a", []string{"tea or milk or water", "tea or tea or water"}},
		{"exact before beginning", "port", "b a", []string{"portable things here", "port things here"}},
		{"equal ones as given", "tea", "a b c", []string{"tea", "tea", "tea"}},
		{"repeated words of a query count once", "milk tea tea tea tea", "b a", []string{"tea and tea", "milk"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ids(search.New(docs(test.texts...)).Search(test.query, 0)); got != test.want {
				t.Errorf("Search(%q) in %q found %q, want %q", test.query, test.texts, got, test.want)
			}
		})
	}
}

// A word that few of many texts have weighs more than two that every other has.
func TestRareAmongMany(t *testing.T) {
	var list []search.Doc
	for i := range 400 {
		list = append(list, search.Doc{ID: fmt.Sprint(i), Text: []string{"closes the branch", "lists the issues"}[i%2]})
	}
	list[250].Text = "exports the invoices"
	if got := ids(search.New(list).Search("list issues invoices", 1)); got != "250" {
		t.Errorf("of 400 texts, one with the rare word, %q was found first, want 250", got)
	}
}

func TestLimit(t *testing.T) {
	x := search.New(docs("tea", "tea", "tea", "tea"))
	for limit, want := range map[int]int{-1: 4, 0: 4, 1: 1, 3: 3, 9: 4} {
		if got := len(x.Search("tea", limit)); got != want {
			t.Errorf("Search with limit %d found %d, want %d", limit, got, want)
		}
	}
	if hits := search.New(nil).Search("tea", 5); len(hits) != 0 {
		t.Errorf("an empty index found %v, want nothing", hits)
	}
}

func TestSearchAtOnce(t *testing.T) {
	x := search.New(tools(200))
	want := ids(x.Search("list issues", 5))
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			if got := ids(x.Search("list issues", 5)); got != want {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
	g.Wait()
}

func FuzzSearch(f *testing.F) {
	f.Add("listMergeRequests of 北京 Казань", "merge request 京")
	f.Add("\xff\u0301é ё", "́")
	f.Add(strings.Repeat("a", 300), strings.Repeat("a", 70))
	f.Fuzz(func(t *testing.T, text, query string) {
		x := search.New([]search.Doc{{ID: "text", Text: text}, {ID: "both", Text: text + " " + query}})
		hits := x.Search(query, 0)
		for i, h := range hits {
			if math.IsNaN(h.Score) || h.Score <= 0 || i > 0 && h.Score > hits[i-1].Score {
				t.Errorf("Search(%q) rated %v", query, hits)
			}
		}
		found := slices.ContainsFunc(hits, func(h search.Hit) bool { return h.ID == "both" })
		if alone := search.New([]search.Doc{{Text: query}}); len(alone.Search(query, 0)) > 0 && !found {
			t.Errorf("Search(%q) did not find a text that ends with it: %q", query, text+" "+query)
		}
	})
}

// tools are descriptions as a large group of tools has them.
func tools(n int) []search.Doc {
	verbs := []string{"get", "list", "create", "update", "delete", "search", "merge", "assign", "export", "watch"}
	things := []string{"issue", "comment", "pull_request", "branch", "repository", "release", "milestone", "label", "workflow", "secret"}
	var list []search.Doc
	for i := range n {
		verb, thing := verbs[i%10], things[i/10%10]
		name := fmt.Sprintf("server%d.%s_%s", i/100, verb, thing)
		list = append(list, search.Doc{ID: name, Text: name + ": " + verb + "s the " + strings.ReplaceAll(thing, "_", " ") +
			" of a project and returns its number, title, state, author, assignees and the time of the last change"})
	}
	return list
}

func BenchmarkNew(b *testing.B) {
	list := tools(500)
	for b.Loop() {
		search.New(list)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := search.New(tools(500))
	for b.Loop() {
		if len(x.Search("merge a pull request", 10)) != 10 {
			b.Fatal("found too few")
		}
	}
}
