package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/cmd/storeroom/server"
)

func (c console) serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve the API and the settings pages on STOREROOM_ADDR",
		Description: describe("storeroom serve",
			"The configuration comes from environment variables, and from .local/env for those that are not set.",
			"DATABASE_URL, REDIS_URL and STOREROOM_KEY_PEPPERS are required. STOREROOM_BASE_URL is required if other",
			"machines can connect to STOREROOM_ADDR. `storeroom config` shows all variables.",
		),
		Action: func(ctx context.Context, _ *cli.Command) error {
			return unlessInterrupted(ctx, c.serve(ctx))
		},
	}
}

func (c console) serve(ctx context.Context) error {
	variables, err := c.variables()
	if err != nil {
		return err
	}
	cfg, err := config.ParseServe(variables)
	if err != nil {
		return err
	}
	cfg.LogFormat = cmp.Or(cfg.LogFormat, "json")
	return server.Run(ctx, server.Options{
		Config: cfg, Version: version, Stderr: c.stderr, IgnoreHangup: true,
	})
}

// unlessInterrupted returns nil instead of the error that a signal during the start causes.
func unlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
