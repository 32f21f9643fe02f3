package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// patience is how long a process that was told to stop may take.
const patience = time.Minute

// runRelayer runs relayer bench on our server, with a database that it makes and drops. Its nsqd is its own.
func (b *bench) runRelayer(ctx context.Context) (figure, error) {
	cmd := exec.CommandContext(ctx, b.relayer, "bench", "--concurrency", "1024", "--intents", strconv.Itoa(b.intents),
		"--database-url", b.server.DSN("postgres"), "-o", "json")
	cmd.Env = environ()
	out, err := output(cmd)
	if err != nil {
		return figure{}, err
	}
	var view struct {
		PerSecond float64 `json:"per_second"`
		CPU       float64 `json:"relayer_cpu_us_per_intent"`
	}
	err = json.Unmarshal(out, &view)
	return figure(view), err
}

// environ is the environment without settings of a relayer.
func environ() (env []string) {
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "RELAYER_") {
			env = append(env, kv)
		}
	}
	return env
}

// output is what a process printed. When the context ends it is told to stop.
func output(cmd *exec.Cmd) ([]byte, error) {
	runtime.LockOSThread() // a child dies with the thread that started it
	defer runtime.UnlockOSThread()
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	cmd.SysProcAttr = childAttr()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, complaint.Bytes())
	}
	return out, nil
}
