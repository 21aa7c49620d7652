// Travel is an MCP server for trying approvals, and a template for your own: it
// searches and books trips, keeps a calendar, takes payments and sends
// notifications. The offers are invented, but the same for everybody; no money moves
// and no message is sent. One JSON file keeps the bookings.
//
// It serves standard input and output, or streamable HTTP with -http.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

func main() {
	db := flag.String("db", "travel.json", "the file for orders, calendar, payments and notifications; created when missing")
	domain := flag.String("domain", "all", "the tools to offer: travel, calendar, payment, alert or all; several processes may share one -db")
	address := flag.String("http", "", "serve streamable HTTP at this address under /mcp, such as 127.0.0.1:8090, in place of standard input and output; it has no password")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *db, *domain, *address); err != nil {
		fmt.Fprintln(os.Stderr, "travel:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// run serves until the context is done or, without an address, until the input
// ends.
func run(ctx context.Context, db, domain, address string) error {
	a := newAgency(db, time.Now)
	if _, err := a.file.read(); err != nil {
		return err // better now than during a booking
	}
	s, err := a.server(domain)
	if err != nil {
		return err
	}
	if address != "" {
		return serveHTTP(ctx, s, address)
	}
	if err := server.NewStdioServer(s).Listen(ctx, os.Stdin, os.Stdout); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serving standard input and output: %w", err)
	}
	return nil
}

func serveHTTP(ctx context.Context, s *server.MCPServer, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	mux := http.NewServeMux()
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	mcp := server.NewStreamableHTTPServer(s, server.WithStreamableHTTPServer(web))
	mux.Handle("/mcp", mcp)
	fmt.Fprintf(os.Stderr, "travel: serving http://%s/mcp\n", listener.Addr())

	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving HTTP: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := mcp.Shutdown(stop); err != nil {
		return fmt.Errorf("ending the server: %w", err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving HTTP: %w", err)
	}
	return nil
}
