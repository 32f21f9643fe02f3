package nsqtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nsqio/nsq/nsqd"
)

// Process is one nsqd in a process of its own, so that it can be killed with all it has in memory.
type Process struct {
	tb   testing.TB
	opts nsqd.Options
	tcp  string
	http string
	disk string // with a small disk of its own, how large
	cmd  *exec.Cmd
	tie  io.Closer     // its end, or ours, ends the child
	done chan struct{} // closed when it has ended
}

// StartProcess is Start in a child process: the test binary once more, whose TestMain must call [Child] first. It is
// killed with the test, and ends by itself when the test's process is gone, whatever ended that.
func StartProcess(tb testing.TB, opts ...Option) *Process {
	tb.Helper()
	p := &Process{tb: tb, opts: *newOptions(tb, opts)}
	p.first()
	return p
}

// first starts it on free ports, which it keeps.
func (p *Process) first() {
	p.tb.Helper()
	p.Restart()
	p.opts.TCPAddress, p.opts.HTTPAddress = p.tcp, p.http
	p.tb.Cleanup(p.Kill)
}

// TCP is the address for consumers and producers.
func (p *Process) TCP() string { return p.tcp }

// HTTP is the address of nsqd's API.
func (p *Process) HTTP() string { return p.http }

// Kill ends it by SIGKILL: what was in memory, in flight or deferred is lost. Calling it when it is down is fine.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Stop ends it by SIGTERM: what it holds goes to its data path, without delays.
func (p *Process) Stop() { p.end(syscall.SIGTERM) }

func (p *Process) end(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // an error says that it has ended
	select {
	case <-p.done:
	case <-time.After(2 * exitTimeout):
		_ = p.cmd.Process.Kill()
		p.tb.Errorf("nsqd %s did not end by %v", p.tcp, s)
		<-p.done
	}
	p.tie.Close()
}

// Restart starts it again on the same addresses and data path, when it was stopped or killed.
func (p *Process) Restart() {
	p.tb.Helper()
	spec, err := json.Marshal(p.opts)
	if err != nil {
		p.tb.Fatalf("nsqd: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		p.tb.Fatalf("nsqd: %v", err)
	}
	p.cmd, p.done = exec.Command(self), make(chan struct{})
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(spec))
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	if p.disk != "" {
		p.cmd.Env = append(p.cmd.Env, diskEnv+"="+p.disk)
		apart(p.cmd.SysProcAttr)
	}
	if err := p.launch(); err != nil {
		p.tb.Fatalf("nsqd as a child: %v", err)
	}
}

// launch starts the child and reads where it listens.
func (p *Process) launch() (err error) {
	if p.tie, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	if err != nil {
		return fmt.Errorf("does TestMain call nsqtest.Child? %w", err)
	}
	_, err = fmt.Sscan(line, &p.tcp, &p.http)
	return err
}

// Stats asks for a channel's numbers; they are zero when it does not exist, or nsqd is down.
func (p *Process) Stats(topic, channel string) ChannelStats {
	q := url.Values{"format": {"json"}, "include_mem": {"false"}, "topic": {topic}, "channel": {channel}}
	resp, err := http.Get("http://" + p.http + "/stats?" + q.Encode())
	if err != nil {
		return ChannelStats{}
	}
	defer resp.Body.Close()
	var r struct {
		Topics []struct{ Channels []channelJSON }
	}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return ChannelStats{}
	}
	for _, t := range r.Topics {
		for _, c := range t.Channels {
			return c.stats()
		}
	}
	return ChannelStats{}
}

// channelJSON is a channel as /stats shows it.
type channelJSON struct {
	Depth    int64    `json:"depth"`
	InFlight int      `json:"in_flight_count"`
	Deferred int      `json:"deferred_count"`
	Messages uint64   `json:"message_count"`
	Requeued uint64   `json:"requeue_count"`
	TimedOut uint64   `json:"timeout_count"`
	Clients  []Client `json:"clients"`
}

func (c channelJSON) stats() ChannelStats {
	s := ChannelStats{Depth: c.Depth, InFlight: c.InFlight, Deferred: c.Deferred, Messages: c.Messages,
		Requeued: c.Requeued, TimedOut: c.TimedOut, Clients: c.Clients}
	for _, cl := range c.Clients {
		s.Finished += cl.Finished
	}
	return s
}

// Publish puts one message for each body into the topic.
func (p *Process) Publish(topic string, bodies ...string) {
	p.tb.Helper()
	for _, b := range bodies {
		p.post("/pub?topic="+topic, b)
	}
}

// Defer puts a message into the topic that is given out after a delay, at most --max-req-timeout.
func (p *Process) Defer(topic string, delay time.Duration, body string) {
	p.tb.Helper()
	p.post(fmt.Sprintf("/pub?topic=%s&defer=%d", topic, delay.Milliseconds()), body)
}

// CreateChannel makes the topic and the channel.
func (p *Process) CreateChannel(topic, channel string) {
	p.tb.Helper()
	p.post("/topic/create?topic="+topic, "")
	p.post("/channel/create?topic="+topic+"&channel="+channel, "")
}

func (p *Process) post(path, body string) {
	p.tb.Helper()
	resp, err := http.Post("http://"+p.http+path, "application/json", strings.NewReader(body))
	if err != nil {
		p.tb.Fatalf("nsqd: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		p.tb.Fatalf("nsqd: %s: %s %s", path, resp.Status, text)
	}
}
