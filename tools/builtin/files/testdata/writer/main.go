// Command writer calls tools of a files server, one per argument, each a JSON
// object with "tool" and its arguments, in the folder that comes first.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools/builtin/files"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, calls []string) error {
	s, err := files.New(files.Options{Root: root, Write: true}, "")
	if err != nil {
		return err
	}
	c, err := client.NewInProcessClient(s)
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		return err
	}
	for _, call := range calls {
		args := map[string]any{}
		if err := json.Unmarshal([]byte(call), &args); err != nil {
			return err
		}
		r := mcp.CallToolRequest{}
		r.Params.Name, _ = args["tool"].(string)
		delete(args, "tool")
		r.Params.Arguments = args
		res, err := c.CallTool(ctx, r)
		if err != nil {
			return err
		}
		if res.IsError {
			return fmt.Errorf("%v", res.Content)
		}
	}
	return nil
}
