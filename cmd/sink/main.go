// Command sink is the payment provider of docker-compose.yml: it takes payments over HTTP, knows their keys, and pays nobody.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/nsqrelayer/relayer/internal/devstack/sink"
)

func main() {
	addr := flag.String("addr", ":8089", "where to listen")
	faults := flag.String("faults", "", sink.FaultsHelp)
	flag.Parse()
	if err := serve(*addr, *faults); err != nil {
		fmt.Fprintln(os.Stderr, "sink:", err)
		os.Exit(1)
	}
}

// serve takes payments until a signal.
func serve(addr, faults string) error {
	f, err := sink.ParseFaults(faults)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := sink.Start(ctx, sink.Config{Addr: addr, Faults: f})
	if err != nil {
		return err
	}
	fmt.Println("sink: taking payments at", s.URL)
	<-ctx.Done()
	return s.Stop()
}
