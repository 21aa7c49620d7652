package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Element is an element that people can perceive: a role and an accessible name, as
// screen readers read them out. A name between slashes is a regular expression; an
// empty one stands for any.
type Element struct{ Role, Name string }

// Button is a button.
func Button(name string) Element { return Element{"button", name} }

// Link is a link.
func Link(name string) Element { return Element{"link", name} }

// Box is a field for text.
func Box(name string) Element { return Element{"textbox", name} }

// Heading is a heading of any level.
func Heading(name string) Element { return Element{"heading", name} }

func (e Element) String() string { return fmt.Sprintf("the %s %q", e.Role, e.Name) }

func (e Element) fits(name string) bool {
	if pattern, ok := strings.CutPrefix(e.Name, "/"); ok && strings.HasSuffix(pattern, "/") {
		return regexp.MustCompile(strings.TrimSuffix(pattern, "/")).MatchString(name)
	}
	return e.Name == "" || e.Name == name
}

// find are the elements of the page, in its order.
func find(ctx context.Context, e Element) ([]cdp.BackendNodeID, error) {
	document, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "document"})
	if err != nil {
		return nil, err
	}
	tree, err := chromedp.Call(ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{ObjectID: document.Result.ObjectID, Role: e.Role})
	if err != nil {
		return nil, err
	}
	var found []cdp.BackendNodeID
	for _, node := range tree.Nodes {
		var name string
		if node.Name != nil {
			_ = json.Unmarshal(node.Name.Value, &name) // a computed string
		}
		if !node.Ignored && e.fits(name) {
			found = append(found, node.BackendDOMNodeID)
		}
	}
	return found, nil
}

// on waits for an element and does something with the last one, since the newest
// post of a chat is the last.
func (tab *Tab) on(e Element, do func(context.Context, cdp.BackendNodeID) error) {
	tab.t.Helper()
	tab.until(e.String(), func(ctx context.Context) (bool, error) {
		all, err := find(ctx, e)
		if err != nil || len(all) == 0 {
			return false, err
		}
		err = do(ctx, all[len(all)-1])
		return err == nil, err
	})
}

// See waits until the page has an element.
func (tab *Tab) See(e Element) {
	tab.t.Helper()
	tab.on(e, func(context.Context, cdp.BackendNodeID) error { return nil })
}

// Gone waits until the page has no such element.
func (tab *Tab) Gone(e Element) {
	tab.t.Helper()
	tab.until("the end of "+e.String(), func(ctx context.Context) (bool, error) {
		all, err := find(ctx, e)
		return len(all) == 0, err
	})
}

// Count is how many such elements the page has now.
func (tab *Tab) Count(e Element) int {
	tab.t.Helper()
	all, err := find(tab.ctx, e)
	if err != nil {
		tab.t.Fatalf("looking for %v: %v", e, err)
	}
	return len(all)
}

// Click clicks an element with the mouse, in its middle, where nothing may
// cover it.
func (tab *Tab) Click(e Element) {
	tab.t.Helper()
	tab.on(e, func(ctx context.Context, id cdp.BackendNodeID) error {
		x, y, err := middle(ctx, id)
		if err != nil {
			return err
		}
		_, err = chromedp.Run(ctx, chromedp.MouseClickXY(x, y))
		return err
	})
}

// middle scrolls an element into view and returns its middle. It returns an error
// when a click there would go elsewhere.
func middle(ctx context.Context, id cdp.BackendNodeID) (x, y float64, err error) {
	if _, err := chromedp.Call(ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: id}); err != nil {
		return 0, 0, err
	}
	box, err := chromedp.Call(ctx, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: id})
	if err != nil || len(box.Quads) == 0 {
		return 0, 0, errors.Join(err, errors.New("it has no place on the screen"))
	}
	q := box.Quads[0]
	x, y = (q[0]+q[4])/2, (q[1]+q[5])/2
	var hit string
	err = call(ctx, id, `function(x, y) {
		if (this.disabled) return "it is disabled";
		const top = document.elementFromPoint(x, y);
		const label = top?.closest("label")?.control;
		return top && (this.contains(top) || top.contains(this) || label === this) ? "" : "covered by " + (top?.outerHTML ?? "nothing").slice(0, 200);
	}`, &hit, x, y)
	if err == nil && hit != "" {
		err = errors.New(hit)
	}
	return x, y, err
}

// call calls a function of the page on an element and stores what it returns.
func call(ctx context.Context, id cdp.BackendNodeID, function string, to any, args ...any) error {
	node, err := chromedp.Call(ctx, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id})
	if err != nil {
		return err
	}
	yes := true
	params := runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: node.Object.ObjectID, ReturnByValue: &yes, AwaitPromise: &yes}
	for _, a := range args {
		value, err := json.Marshal(a)
		if err != nil {
			return err
		}
		params.Arguments = append(params.Arguments, &runtime.CallArgument{Value: value})
	}
	result, err := chromedp.Call(ctx, runtime.CallFunctionOn, params)
	switch {
	case err != nil:
		return err
	case result.ExceptionDetails != nil:
		return errors.New(thrown(result.ExceptionDetails))
	case to == nil:
		return nil
	}
	return json.Unmarshal(result.Result.Value, to)
}

// Value is the value of a field, or the text of another element.
func (tab *Tab) Value(e Element) (value string) {
	tab.t.Helper()
	tab.on(e, func(ctx context.Context, id cdp.BackendNodeID) error {
		return call(ctx, id, `function() { return this.value ?? this.innerText }`, &value)
	})
	return value
}

// Fill puts text in place of what a field holds.
func (tab *Tab) Fill(e Element, text string) {
	tab.t.Helper()
	tab.on(e, func(ctx context.Context, id cdp.BackendNodeID) error {
		if err := call(ctx, id, `function() { this.focus(); this.select?.() }`, nil); err != nil {
			return err
		}
		if text == "" {
			_, err := chromedp.Run(ctx, chromedp.KeyEvent(kb.Backspace))
			return err
		}
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

// Press presses keys where the focus is: kb.Enter.
func (tab *Tab) Press(keys string, with ...chromedp.Modifier) {
	tab.t.Helper()
	if _, err := chromedp.Run(tab.ctx, chromedp.KeyEvent(keys, chromedp.KeyModifiers(with...))); err != nil {
		tab.t.Fatalf("pressing %q: %v", keys, err)
	}
}

// Choose gives files to a field for files, which may be hidden behind a button: a CSS
// selector names it.
func (tab *Tab) Choose(selector string, paths ...string) {
	tab.t.Helper()
	tab.until(selector, func(ctx context.Context) (bool, error) {
		field, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: fmt.Sprintf("document.querySelector(%s)", quote(selector))})
		if err != nil || field.Result.ObjectID == "" {
			return false, err
		}
		_, err = chromedp.Call(ctx, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: paths, ObjectID: field.Result.ObjectID})
		return err == nil, err
	})
}
