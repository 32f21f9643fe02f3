package nsqtest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nsqio/nsq/nsqd"
)

// childEnv holds nsqd's options where this process is to be one.
const childEnv = "RELAYER_TEST_NSQD"

// Child makes this process an nsqd, if [StartProcess] started it, and does not return then. TestMain calls it first.
func Child() {
	spec := os.Getenv(childEnv)
	if spec == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with whoever started us
		os.Exit(0)
	}()
	if err := child(spec); err != nil {
		fmt.Fprintln(os.Stderr, "nsqd:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child runs nsqd until SIGTERM, and says on stdout where it listens.
func child(spec string) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	o := nsqd.NewOptions()
	if err := json.Unmarshal([]byte(spec), o); err != nil {
		return err
	}
	if err := fullDisk(o.DataPath); err != nil {
		return err
	}
	up := newListeners()
	o.Logger, o.LogLevel = up, nsqd.LOG_INFO
	d, err := nsqd.New(o)
	if err != nil {
		return err
	}
	if err := d.LoadMetadata(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Main() }()
	select {
	case <-up.up:
	case err := <-ended:
		return err
	}
	fmt.Println(d.RealTCPAddr(), d.RealHTTPAddr())
	<-stop
	exit(d)
	return nil
}

// exit ends nsqd. It waits for every client that connected and never said a word, after all is on disk: not for ever.
func exit(d *nsqd.NSQD) {
	done := make(chan struct{})
	go func() { d.Exit(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
	}
}
