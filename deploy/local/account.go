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

// account is the user that the servers run as. The zero value is the user of
// this process.
type account struct {
	other    bool // run as uid and gid rather than as we are
	uid, gid int
	// capabilities let the account pass the folders above the directory where
	// it may not look, such as root's home; see chooseAccount.
	capabilities []uintptr
}

// chooseAccount settles who runs the servers. An ordinary user runs them as
// himself. Root hands them to the owner of the data that is there, or else to
// postgres or nobody, and gives them a capability where they could not reach
// their data otherwise: nothing outside the directory is ever changed.
func (d *directory) chooseAccount(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return nil
	}
	a, err := d.dataOwner()
	if err != nil {
		return err
	}
	if err := os.Chmod(d.path, 0o711); err != nil { // to pass through; files in it have modes of their own
		return err
	}
	for _, a.capabilities = range reachCapabilities {
		if err = a.reach(ctx, d.path); err == nil {
			d.account = a
			return nil
		}
	}
	return fmt.Errorf("user %d cannot reach %s: open the folders above it, or work in another folder: %w", a.uid, d.path, err)
}

// dataOwner finds the account that owns the database, or one for a new one.
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
	return account{}, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as")
}

// reach tries whether a process of the account can enter path.
func (a account) reach(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `cd "$1"`, "sh", path)
	cmd.Dir = "/"
	cmd.SysProcAttr = a.attributes(syscall.SIGKILL)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// own gives path to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}
