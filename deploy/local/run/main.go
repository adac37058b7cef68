// Command run starts temporary servers, runs a command with them and exits with its exit
// code:
//
//	go run ./deploy/local/run go test ./...
//
// The command gets the addresses in STOREROOM_TEST_DATABASE_URL (a superuser) and
// REDIS_URL. If a variable is already set, its server is not started. If STOREROOM_CITUS
// names the directory of the programs of a PostgreSQL with Citus, the command gets the
// coordinator of a cluster, its two workers in STOREROOM_TEST_WORKER_URLS, and the directory
// in STOREROOM_TEST_CITUS.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/storeroom/storeroom/deploy/local"
)

const (
	databaseVariable = "STOREROOM_TEST_DATABASE_URL"
	redisVariable    = "REDIS_URL"
	citusVariable    = "STOREROOM_CITUS"
	testCitus        = "STOREROOM_TEST_CITUS" // the program refuses variables that it does not know
	workersVariable  = "STOREROOM_TEST_WORKER_URLS"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: run COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the exit code of the command. It returns an error if the servers or the
// command could not be started or stopped.
func run(args []string) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dir, err := os.MkdirTemp(parentDir(), "storeroom-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	citus := os.Getenv(citusVariable)
	var nodes []*local.Servers
	if citus != "" && os.Getenv(databaseVariable) == "" {
		if nodes, err = local.StartCluster(ctx, filepath.Join(dir, "citus"), citus, 2); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, local.StopAll(nodes)) }()
	}
	servers, err := local.Start(ctx, dir, local.Options{
		Postgres: os.Getenv(databaseVariable) == "" && citus == "",
		Redis:    os.Getenv(redisVariable) == "",
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, servers.Stop()) }()
	return command(ctx, args, environment(servers, nodes))
}

// parentDir returns a directory in memory, if it and the machine have space for the data. On a
// disk, the files of the tests' databases, which are created and deleted, take a third of the
// CPU time of the tests.
func parentDir() string {
	const memory, needed = "/dev/shm", 8 << 30
	var files syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &files) != nil || files.Bavail*uint64(files.Bsize) < needed {
		return os.TempDir()
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return os.TempDir()
	}
	var available uint64 // KiB
	_, line, _ := strings.Cut(string(info), "MemAvailable:")
	if _, err := fmt.Sscan(line, &available); err != nil || available<<10 < needed {
		return os.TempDir()
	}
	return memory
}

// environment adds the addresses of the servers to the environment of this process.
func environment(s *local.Servers, nodes []*local.Servers) []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, citusVariable+"=")
	})
	if bin := os.Getenv(citusVariable); bin != "" {
		env = append(env, testCitus+"="+bin)
	}
	if len(nodes) > 0 {
		var workers []string
		for _, worker := range nodes[1:] {
			workers = append(workers, worker.AdminURL)
		}
		env = append(env, databaseVariable+"="+nodes[0].AdminURL, workersVariable+"="+strings.Join(workers, " "))
	}
	if s.AdminURL != "" {
		env = append(env, databaseVariable+"="+s.AdminURL)
	}
	if s.RedisURL != "" {
		env = append(env, redisVariable+"="+s.RedisURL)
	}
	return env
}

// command runs args in a new process group and forwards signals to the group, so that each
// process gets a signal once. After the command has ended, the rest of the group gets the
// last signal again, because a shell can miss one while it forks.
func command(ctx context.Context, args, env []string) (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		return 1, nil // a signal came while the servers started
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var last syscall.Signal // 0: none
	for {
		select {
		case s := <-signals:
			last = s.(syscall.Signal)
			_ = syscall.Kill(-cmd.Process.Pid, last) // the group may have ended
		case err := <-done:
			_ = syscall.Kill(-cmd.Process.Pid, last) // usually the group is empty
			return exitCode(cmd.ProcessState), ignoreExit(err)
		}
	}
}

// exitCode returns the exit code as a shell does: 128 plus the signal's number for a
// command that was ended by a signal.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// ignoreExit returns nil for a command that ran and failed, which its exit code reports.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}
