package nsqtest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Child()
	if os.Getenv(orphanEnv) != "" {
		orphan()
	}
	os.Exit(m.Run())
}

// An nsqd that is killed loses its memory, one that is told to end keeps it; both come back where they were.
func TestProcessIsKilledWithItsMemory(t *testing.T) {
	t.Parallel()
	p := StartProcess(t)
	tcp, http := p.TCP(), p.HTTP()
	p.CreateChannel("orders", "relayer")
	Until(t, "the channel to be on disk", func() bool { return p.persisted() })
	for _, c := range []struct {
		end  func()
		want int64
	}{{p.Stop, 2}, {p.Kill, 0}} {
		p.Publish("orders", "one")
		p.Defer("orders", time.Hour, "two")
		Until(t, "the channel to have both", func() bool {
			s := p.Stats("orders", "relayer")
			return s.Depth == 1 && s.Deferred == 1
		})
		c.end()
		p.Restart()
		if p.TCP() != tcp || p.HTTP() != http {
			t.Fatalf("back at %s and %s, want %s and %s", p.TCP(), p.HTTP(), tcp, http)
		}
		Until(t, "what it kept to be in the channel", func() bool { return p.Stats("orders", "relayer").Depth == c.want })
		p.post("/channel/empty?topic=orders&channel=relayer", "")
	}
}

// persisted says whether nsqd's list of topics knows the channel.
func (p *Process) persisted() bool {
	raw, _ := os.ReadFile(p.opts.DataPath + "/nsqd.dat")
	return strings.Contains(string(raw), "relayer")
}

// orphanEnv makes a test binary start an nsqd and be killed.
const orphanEnv = "RELAYER_TEST_ORPHAN"

// orphan leaves an nsqd without its test, as a test that crashes does.
func orphan() {
	dir, err := os.MkdirTemp(os.Getenv(orphanEnv), "")
	if err != nil {
		panic(err)
	}
	tb := dirTB{dir: dir}
	p := &Process{tb: tb, opts: *newOptions(tb, nil)}
	p.Restart()
	os.Stdout.WriteString(strconv.Itoa(p.cmd.Process.Pid))
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// dirTB is as much of a test as options need.
type dirTB struct {
	testing.TB
	dir string
}

func (dirTB) Helper()           {}
func (d dirTB) TempDir() string { return d.dir }

// The nsqd of a test that crashed is gone with it.
func TestProcessEndsWithItsTest(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), orphanEnv+"="+t.TempDir())
	cmd.WaitDelay = time.Second // the nsqd has its stderr, too
	out, err := cmd.Output()
	if err == nil {
		t.Fatal("the test was not killed")
	}
	pid, err := strconv.Atoi(string(out))
	if err != nil {
		t.Fatal(err)
	}
	Until(t, "nsqd to end", func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
}

// zombie says whether a process has ended and nobody has asked for its end: in some containers nobody does.
func zombie(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(raw), ") Z ")
}
