package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
)

func (c console) configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "print the configuration of serve without secrets, and every problem in it",
		Description: describe("storeroom config",
			"Values come from the environment, and from .local/env for variables that are not set. The memory limit of",
			"the Go runtime and the OTEL_* variables that are set follow at the end. The exit code is 1 if serve would refuse to start",
			"with these values. It connects to no server. At start, serve also checks that the ports are free, that PostgreSQL",
			"answers, its role, schema and pooler, and the replicas.",
		),
		Flags:  []cli.Flag{jsonFlag()},
		Action: c.printConfig,
	}
}

func (c console) printConfig(_ context.Context, cmd *cli.Command) error {
	file, err := config.ReadFile(c.dir)
	if err != nil {
		return err
	}
	environment := config.Environment(c.environ)
	settings := config.Settings(file, environment)
	err = c.print(cmd, settings, func(w io.Writer) {
		fmt.Fprintln(w, "NAME\tVALUE\tSOURCE")
		for _, s := range settings {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, cmp.Or(s.Value, "-"), s.Source)
		}
	})
	if err != nil {
		return err
	}
	_, err = config.ParseServe(config.Merge(file, environment))
	return err
}
