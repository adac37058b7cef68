package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/migrations"
)

func (c console) versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version of the program and of the schema that it requires",
		Description: describe("storeroom version"),
		Flags:       []cli.Flag{jsonFlag()},
		Action: func(_ context.Context, cmd *cli.Command) error {
			result := struct {
				Version string `json:"version"`
				Schema  int    `json:"schema"`
				Go      string `json:"go"`
			}{version, migrations.Latest(), runtime.Version()}
			return c.print(cmd, result, func(w io.Writer) {
				fmt.Fprintf(w, "storeroom %s, schema %d, %s\n", result.Version, result.Schema, result.Go)
			})
		},
	}
}
