package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// asCommand makes the test program run main.
const asCommand = "STOREROOM_RUN_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestRunStartsServersForACommand(t *testing.T) {
	t.Parallel()

	t.Run("The command gets both addresses, and run returns its exit code", func(t *testing.T) {
		t.Parallel()
		cmd, temporary := mustCommand(t, "sh", "-c", `echo "$STOREROOM_TEST_DATABASE_URL"; echo "$REDIS_URL"; exit 3`)
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
			t.Errorf("Output = %v, want exit status 3", err)
		}
		addresses := strings.Fields(string(out))
		if len(addresses) != 2 {
			t.Fatalf("addresses = %q, want two", addresses)
		}
		checkGone(t, temporary, addresses)
	})

	t.Run("A server named in the environment is not started", func(t *testing.T) {
		t.Parallel()
		cmd, _ := mustCommand(t, "sh", "-c", `echo "$STOREROOM_TEST_DATABASE_URL"; echo "$REDIS_URL"`)
		cmd.Env = append(cmd.Env, databaseVariable+"=postgres://elsewhere", redisVariable+"=redis://elsewhere")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("postgres://elsewhere\nredis://elsewhere\n", string(out)); diff != "" {
			t.Errorf("addresses differ (-want +got):\n%s", diff)
		}
	})

	t.Run("SIGTERM ends the command, its children and the servers", func(t *testing.T) {
		t.Parallel()
		cmd, temporary := mustCommand(t, "sh", "-c", `echo "$REDIS_URL"; sleep 600; exit 3`)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(stdout)
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, reader); err != nil { // ends when sleep has ended too
			t.Fatal(err)
		}
		if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || exit.ExitCode() != 128+int(syscall.SIGTERM) {
			t.Errorf("Wait = %v, want exit status 143", exit)
		}
		checkGone(t, temporary, []string{strings.TrimSpace(line)})
	})

	t.Run("A command that does not exist is an error", func(t *testing.T) {
		t.Parallel()
		cmd, temporary := mustCommand(t, "no-such-command")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "no-such-command") {
			t.Errorf("Run = %v with %q, want an error that names the command", err, &stderr)
		}
		checkGone(t, temporary, nil)
	})
}

// mustCommand prepares run with args, without servers in its environment and with a
// separate directory for temporary files.
func mustCommand(t *testing.T, args ...string) (cmd *exec.Cmd, temporary string) {
	t.Helper()
	temporary = t.TempDir()
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if name != databaseVariable && name != redisVariable {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, asCommand+"=yes", "TMPDIR="+temporary)
	cmd.WaitDelay = 10 * time.Second
	return cmd, temporary
}

// checkGone fails the test if a server still listens or a file is left.
func checkGone(t *testing.T, temporary string, addresses []string) {
	t.Helper()
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if listener, err := net.Listen("tcp", u.Host); err != nil {
			t.Errorf("Listen(%s) = %v, want a free port", u.Host, err)
		} else {
			listener.Close()
		}
	}
	left, err := os.ReadDir(temporary)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left in %s: %v, want nothing", temporary, left)
	}
}
