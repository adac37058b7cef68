package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that runs the servers. The zero value is the user of this process.
type account struct {
	other    bool // use uid and gid
	uid, gid int
	// capabilities let the account enter parent directories it has no permission for,
	// such as root's home.
	capabilities []uintptr
}

// chooseAccount chooses the user that runs the servers. For root that is the owner of the
// existing data, or else postgres or nobody. If that user cannot reach the directory, the
// servers get a capability, because chooseAccount changes nothing outside the directory.
func (d *directory) chooseAccount(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return nil
	}
	a, err := d.dataOwner()
	if err != nil {
		return err
	}
	if err := os.Chmod(d.path, 0o711); err != nil { // lets the account enter; files have stricter modes
		return err
	}
	for _, a.capabilities = range reachCapabilities {
		if err = a.reach(ctx, d.path); err == nil {
			d.account = a
			return nil
		}
	}
	return fmt.Errorf("user %d cannot enter %s: allow access to its parent directories, or use another directory: %w",
		a.uid, d.path, err)
}

// dataOwner returns the owner of the existing cluster, or an account for a new one.
func (d *directory) dataOwner() (account, error) {
	info, err := os.Stat(filepath.Join(d.path, "postgres"))
	if err == nil {
		owner := info.Sys().(*syscall.Stat_t)
		return account{other: true, uid: int(owner.Uid), gid: int(owner.Gid)}, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return account{}, err
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		return account{other: true, uid: uid, gid: gid}, errors.Join(uidErr, gidErr)
	}
	return account{}, errors.New("PostgreSQL refuses to run as root, and neither the user postgres nor nobody exists")
}

// reach checks that a process of the account can enter path.
func (a account) reach(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `cd "$1"`, "sh", path)
	cmd.Dir = "/"
	cmd.SysProcAttr = a.attributes(syscall.SIGKILL)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// own changes the owner of path to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}
