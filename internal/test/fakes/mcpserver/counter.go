package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// colours is what choose wants to know about a key, which stands in the title.
const colours = `{"type":"object","properties":{"colour":{"type":"string","title":%q,
	"oneOf":[{"const":"red","title":"Red"},{"const":"green","title":"Green"},{"const":"blue","title":"Blue"}]}},"required":["colour"]}`

// payTime is how long a payment takes: long enough to be cut off.
const payTime = 30 * time.Millisecond

// offerCounter offers what a judge of people's decisions needs: pay {order},
// and choose {key}, which asks a person for a colour. The log's asked and told
// have the key as their note.
func (f *fake) offerCounter() {
	no := false
	pay := mcp.NewTool("pay", mcp.WithDescription("Pays an order."), mcp.WithString("order", mcp.Required()))
	pay.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &no, IdempotentHint: &no}
	f.mcp.AddTool(pay, f.text(func(_ context.Context, r mcp.CallToolRequest) string {
		<-time.After(payTime)
		return "paid " + r.GetString("order", "")
	}))
	choose := mcp.NewTool("choose", mcp.WithDescription("Asks for a colour."), mcp.WithString("key", mcp.Required()))
	f.askers["choose"] = f.done(f.choose)
	f.mcp.AddTool(choose, f.askers["choose"])
}

// choose asks once and says what was chosen.
func (f *fake) choose(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	key := r.GetString("key", "")
	q := question{id: key, form: fmt.Sprintf(colours, "Colour of "+key), message: "Which colour for " + key + "?"}
	result, err := f.asks(q)(ctx, r)
	if err != nil {
		return nil, err
	}
	if result.NeedsInput() || result.IsError || len(result.Content) == 0 {
		return result, nil
	}
	text, _ := result.Content[0].(mcp.TextContent)
	var told []struct {
		Content struct {
			Colour string `json:"colour"`
		} `json:"content"`
	}
	_ = json.Unmarshal([]byte(text.Text), &told) // the text that asks wrote
	if len(told) == 0 || told[0].Content.Colour == "" {
		return mcp.NewToolResultText("no one chose a colour for " + key), nil
	}
	return mcp.NewToolResultText("the colour of " + key + " is " + told[0].Content.Colour), nil
}
