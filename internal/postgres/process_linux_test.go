package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childMode makes the test binary a process that starts a server, prints "pid inode dsn" and waits to be killed.
// The inode is that of a TCP socket it listens on.
const childMode = "POSTGRES_CHILD"

func child(mode string) {
	if mode == "no-setuid" {
		dropSetuid()
	}
	if err := serve(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b, err := Find("")
	if err != nil {
		return err
	}
	s, err := Start(context.Background(), Config{Binaries: b, NoSync: true})
	if err != nil {
		return err
	}
	inode, err := socketInode(l.(*net.TCPListener))
	if err != nil {
		return err
	}
	fmt.Println(s.PID(), inode, s.DSN("postgres"))
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Stop()
}

func socketInode(l *net.TCPListener) (inode uint64, err error) {
	f, err := l.File()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Sys().(*syscall.Stat_t).Ino, nil
}

// dropSetuid takes CAP_SETUID out of the bounding set and runs the binary anew: root without the right to switch.
func dropSetuid() {
	const prCapbsetDrop, capSetuid = 24, 7
	runtime.LockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prCapbsetDrop, capSetuid, 0); errno != 0 {
		panic(errno)
	}
	if err := os.Setenv(childMode, "serve"); err != nil {
		panic(err)
	}
	panic(syscall.Exec("/proc/self/exe", os.Args[:1], os.Environ()))
}

// spawn runs the binary as a child and returns it with the line it printed. A child that another test is just starting
// may still hold a binary open that was written a moment ago: then the kernel calls it busy.
func spawn(t *testing.T, binary, mode string, cred *syscall.Credential) (*exec.Cmd, string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		cmd, line, err := trySpawn(t, binary, mode, cred)
		if err == nil {
			return cmd, line
		}
		if !errors.Is(err, syscall.ETXTBSY) {
			t.Fatal(err)
		}
		<-tick.C
	}
	t.Fatalf("%s stays busy", binary)
	return nil, ""
}

func trySpawn(t *testing.T, binary, mode string, cred *syscall.Credential) (*exec.Cmd, string, error) {
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childMode+"="+mode, "GOCOVERDIR="+os.TempDir())
	cmd.Dir, cmd.Stderr = "/", t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() }) // an end of input ends the child in order
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line), nil
}

func TestKill9OfParentEndsServer(t *testing.T) {
	t.Parallel()
	cmd, line := spawn(t, os.Args[0], "serve", nil)
	var pid, inode int
	var dsn string
	if _, err := fmt.Sscan(line, &pid, &inode, &dsn); err != nil {
		t.Fatalf("child says %q: %v", line, err)
	}
	dir := filepath.Dir(scan[string](t, dsn, "show data_directory"))
	t.Cleanup(func() { os.RemoveAll(dir) })
	inheritsNot(t, pid, inode)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "server of the killed parent gone", func() bool { return !alive(pid) })
}

// inheritsNot checks that a process does not hold a socket of its parent: the port would stay taken after the parent.
func inheritsNot(t *testing.T, pid, inode int) {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Fatalf("no open files of %d to see: %v", pid, err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == fmt.Sprintf("socket:[%d]", inode) {
			t.Errorf("the server holds its parent's listening socket as %s", fd)
		}
	}
}

func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	a, err := lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(openDirectory(t), "test")
	if err := copyFile(binary, os.Args[0]); err != nil {
		t.Fatal(err)
	}
	_, line := spawn(t, binary, "serve", a.credential())
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatalf("child says %q: %v", line, err)
	}
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != a.uid {
		t.Errorf("server of uid %d runs as %d", a.uid, uid)
	}
}

func copyFile(to, from string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o755)
}

func TestRootThatMayNotSwitch(t *testing.T) {
	t.Parallel()
	needRoot(t)
	_, line := spawn(t, os.Args[0], "no-setuid", nil)
	for _, want := range []string{"refuses root", "operation not permitted", "--database-url"} {
		if !strings.Contains(line, want) {
			t.Errorf("child says %q, want %q in it", line, want)
		}
	}
}
