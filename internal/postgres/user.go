package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who the server runs as. The zero account means: as we do.
type account struct {
	name     string
	uid, gid uint32
}

// SwitchUserError says that this process is root and may not run Postgres as somebody else.
type SwitchUserError struct {
	User string
	Err  error
}

func (e *SwitchUserError) Error() string {
	return fmt.Sprintf("postgres refuses root, and this process may not switch to user %q (%v): "+
		"run as an ordinary user, or pass --database-url", e.User, e.Err)
}

func (e *SwitchUserError) Unwrap() error { return e.Err }

// runner chooses the account: none unless we are root.
func runner(name string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	names := []string{"postgres", "nobody"}
	if name != "" {
		names = []string{name}
	}
	for _, n := range names {
		if a, err := lookup(n); err == nil && a.uid != 0 {
			return a, nil
		}
	}
	return account{}, &SwitchUserError{User: names[0], Err: errors.New("no such user")}
}

func lookup(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return account{name: name, uid: uint32(uid), gid: uint32(gid)}, errors.Join(err1, err2)
}

func (a account) switches() bool { return a.name != "" }

// credential is for SysProcAttr; nil means no switch.
func (a account) credential() *syscall.Credential {
	if !a.switches() {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// give makes the account the owner of path.
func (a account) give(path string) error {
	if !a.switches() {
		return nil
	}
	return a.explain(os.Chown(path, int(a.uid), int(a.gid)))
}

// explain turns the kernel's refusal of a switch into a *SwitchUserError. A root without the right gets EPERM; a root
// in a user namespace, in which the account does not exist, gets EINVAL.
func (a account) explain(err error) error {
	if a.switches() && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL)) {
		return &SwitchUserError{User: a.name, Err: err}
	}
	return err
}

// ClosedDirError says that the account the server runs as cannot reach its directory.
type ClosedDirError struct {
	Dir    string // wanted
	Closed string // the directory on the way that is closed
	User   string
}

func (e *ClosedDirError) Error() string {
	return fmt.Sprintf("user %q, who runs Postgres here, cannot reach %s: %s is closed to others", e.User, e.Dir, e.Closed)
}

// reach checks that the account can pass through dir and all that is above it.
func (a account) reach(dir string) error {
	if !a.switches() {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if !a.passes(info) {
			return &ClosedDirError{Dir: dir, Closed: at, User: a.name}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func (a account) passes(info fs.FileInfo) bool {
	bit := fs.FileMode(0o001)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		switch {
		case st.Uid == a.uid:
			bit = 0o100
		case st.Gid == a.gid:
			bit = 0o010
		}
	}
	return info.Mode()&bit != 0
}
