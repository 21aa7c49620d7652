package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var weatherSchema = json.RawMessage(`{"type":"object","properties":{"celsius":{"type":"number"},"sky":{"type":"string","enum":["clear","cloudy","rain"]}},"required":["celsius","sky"],"additionalProperties":false}`)

// offerMedia offers tools whose results are more than a text.
func (f *fake) offerMedia() {
	yes := true
	add := func(tool mcp.Tool, handle server.ToolHandlerFunc) {
		tool.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &yes}
		f.mcp.AddTool(tool, f.done(handle))
	}
	add(mcp.NewTool("weather", mcp.WithDescription("Tells the weather of a place."), mcp.WithString("place", mcp.Required()), mcp.WithRawOutputSchema(weatherSchema)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultStructured(map[string]any{"celsius": 21.5, "sky": "clear"}, `{"celsius":21.5,"sky":"clear"}`), nil
		})
	add(mcp.NewTool("picture", mcp.WithDescription("Draws a red square.")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b, err := square()
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultImage("a red square", base64.StdEncoding.EncodeToString(b), "image/png"), nil
	})
	add(mcp.NewTool("sound", mcp.WithDescription("Plays a tone.")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultAudio("a tone", base64.StdEncoding.EncodeToString(tone()), "audio/wav"), nil
	})
	add(mcp.NewTool("document", mcp.WithDescription("Brings a document and a link to another.")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "note://today", MIMEType: "text/plain", Text: "Buy bread."}),
			mcp.NewResourceLink("note://tomorrow", "tomorrow", "The note of tomorrow.", "text/plain"),
		}}, nil
	})
	add(mcp.NewTool("attachment", mcp.WithDescription("Brings a document as a blob.")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			mcp.NewEmbeddedResource(mcp.BlobResourceContents{URI: "note://letter.txt", MIMEType: "text/plain", Blob: base64.StdEncoding.EncodeToString([]byte("Buy bread."))}),
		}}, nil
	})
	f.own["steps"] = steps
	f.offer("steps", "Takes n steps of ms each and tells its progress.", `{"type":"object","properties":{"n":{"type":"number"},"ms":{"type":"number"}},"required":["n","ms"]}`)
}

// steps answers a call after n steps, each of which it tells to a client that
// gave a token. It writes by itself: the library may lose the last word before
// an answer.
func steps(f *fake, x *exchange) bool {
	var args struct{ N, MS float64 }
	_ = json.Unmarshal(x.params.Arguments, &args)
	cancelled, token := f.cancels(x), x.params.Meta["progressToken"]
	if x.http != nil {
		x.http.stream = true
	}
	x.back.later(func() {
		for i := range int(args.N) {
			select {
			case <-time.After(time.Duration(args.MS) * time.Millisecond):
			case <-cancelled:
				return
			}
			if token != nil {
				x.reply(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d,"message":"step %d of %d"}}`, token, i+1, int(args.N), i+1, int(args.N)))
			}
		}
		f.log.write(entry{Event: "done", ID: x.ID, Tool: x.params.Name, Args: x.params.Arguments})
		x.reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"took %d steps"}]}}`, x.ID, int(args.N)))
	})
	return false
}

// square is a red PNG of 16 by 16.
func square() ([]byte, error) {
	m := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range 256 {
		m.Set(i%16, i/16, color.RGBA{R: 255, A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return nil, fmt.Errorf("drawing: %w", err)
	}
	return b.Bytes(), nil
}

// tone is a tenth of a second of 440 Hz as WAV: 8 kHz, mono, 8 bits.
func tone() []byte {
	const rate, samples = 8000, 800
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, 36+samples)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = append(b, "\x01\x00\x08\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, samples)
	for i := range samples {
		b = append(b, byte(128+100*math.Sin(2*math.Pi*440*float64(i)/rate)))
	}
	return b
}
