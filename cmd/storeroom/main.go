// Command storeroom serves the catalog and the reports of many tenants over HTTP. It is also the tool of the operator.
//
// serve connects to PostgreSQL as the runtime role, which row-level security restricts to one tenant at a time. migrate
// and the commands of the operator (tenant, key, user, import, export, customer, verify, rebuild) connect as the
// migrator. dev starts private servers, creates a demo shop and serves it. Each command has one file. serve and dev
// start the program again as a child process for each uploaded picture.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/catalog/media"
)

// version is set by the linker.
var version = "dev"

func main() {
	if media.IsChild() {
		os.Exit(media.RunChild())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal terminates the process immediately
	os.Exit(run(ctx, console{
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		environ: os.Environ(),
		dir:     ".",
	}, os.Args))
}

// console is the environment of a command. Tests provide their own.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	dir            string // contains .local
}

// run executes a command line and returns the exit code: 0 for success, 1 for failure, and 2 if import refused some
// rows and loaded the others, or if export left out pictures.
func run(ctx context.Context, c console, args []string) int {
	if len(args) > 1 && args[1] == "help" { // storeroom help COMMAND
		args = append(append(args[:1:1], args[2:]...), "--help")
	}
	return c.exitCode(c.rootCommand().Run(ctx, args))
}

func (c console) rootCommand() *cli.Command {
	root := &cli.Command{
		Name:    "storeroom",
		Usage:   "serve the catalog and the reports of many tenants over HTTP",
		Version: version,
		Commands: []*cli.Command{
			c.serveCommand(), c.migrateCommand(), c.devCommand(), c.versionCommand(),
			c.tenantCommand(), c.keyCommand(), c.userCommand(), c.importCommand(),
			c.exportCommand(), c.customerCommand(), c.verifyCommand(), c.rebuildCommand(), c.configCommand(),
		},
		Writer:          c.stdout,
		ErrWriter:       c.stderr,
		HideHelpCommand: true,
		ArgValidator:    checkArguments,
		ExitErrHandler:  func(context.Context, *cli.Command, error) {}, // exitCode prints the error
	}
	setUsageErrors(root)
	return root
}
