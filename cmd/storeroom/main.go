// Command storeroom serves the catalog and reports of many tenants over HTTP, and
// is its operator's tool.
//
// serve runs as a role that PostgreSQL holds to one tenant at a time, and opens
// nothing else. migrate and the operator's commands (tenant, key, user, import,
// customer, verify, rebuild) run as the migrator. dev starts private servers, makes a demo shop and serves it.
// Every command is one file; this package is the only one that knows all others.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, console{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		environ: os.Environ(), dir: ".",
	}, os.Args))
}

// console is what a command has of the world; tests give it another.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	dir            string // where .local stands
}

// run executes one command line and returns the exit code: 0 for success, 1 for a
// failure, 2 where import loaded some rows and refused others.
func run(ctx context.Context, c console, args []string) int {
	root := &cli.Command{
		Name:    "storeroom",
		Usage:   "a catalog and its reports, for many tenants, over HTTP",
		Version: version,
		Commands: []*cli.Command{
			c.serveCommand(), c.migrateCommand(), c.devCommand(), c.versionCommand(),
			c.tenantCommand(), c.keyCommand(), c.userCommand(), c.importCommand(),
			c.customerCommand(), c.verifyCommand(), c.rebuildCommand(), c.configCommand(),
		},
		Writer:          c.stdout,
		ErrWriter:       c.stderr,
		HideHelpCommand: true,
		ArgValidator:    checkArguments,
		ExitErrHandler:  func(context.Context, *cli.Command, error) {}, // run prints it
	}
	quietUsage(root)
	return c.exitCode(root.Run(ctx, args))
}
