package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"net"
	"net/url"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/cmd/storeroom/server"
	"github.com/storeroom/storeroom/deploy/local"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db"
)

func (c console) devCommand() *cli.Command {
	return &cli.Command{
		Name:  "dev",
		Usage: "start private servers, create a demo shop and serve it",
		Description: describe("STOREROOM_ADDR=127.0.0.1:9090 storeroom dev",
			"PostgreSQL and Redis run in .local/ unless DATABASE_URL (with DATABASE_ADMIN_URL) and REDIS_URL are set.",
			"The configuration is written to .local/env, which the other commands read.",
		),
		Action: func(ctx context.Context, _ *cli.Command) error {
			if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
				var stop func()
				ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP) // a closed terminal ends the private servers too
				defer stop()
			}
			return unlessInterrupted(ctx, c.dev(ctx))
		},
	}
}

// dev starts the servers, migrates the database, creates the demo shop and serves it. It listens first, so that a port
// in use is reported before anything is started.
func (c console) dev(ctx context.Context) (err error) {
	file, err := config.ReadFile(c.dir)
	if err != nil {
		return err
	}
	variables, err := c.devVariables(file)
	if err != nil {
		return err
	}
	cfg, err := config.Parse(variables)
	if err := errors.Join(err, config.CheckTelemetry(variables)); err != nil {
		return err
	}
	listener, err := server.Listen(ctx, "STOREROOM_ADDR", cfg.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	variables["STOREROOM_ADDR"] = listener.Addr().String()
	variables["STOREROOM_BASE_URL"] = cmp.Or(variables["STOREROOM_BASE_URL"], server.LocalURL(listener.Addr()))
	if variables["STOREROOM_MEDIA_URL"] == "" {
		dir, err := filepath.Abs(filepath.Join(c.dir, ".local", "media"))
		if err != nil {
			return err
		}
		variables["STOREROOM_MEDIA_URL"] = (&url.URL{Scheme: "file", Path: dir}).String()
	}
	servers, err := c.startServers(ctx, variables, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Stop()) }()
	if cfg, err = config.Parse(variables); err != nil {
		return err
	}
	// An earlier program can serve on a newer schema.
	if _, err := c.applyMigrations(ctx, cfg.DatabaseAdminURL); err != nil && !errors.Is(err, migrations.ErrNewer) {
		return err
	}
	return c.serveShop(ctx, cfg, variables, listener)
}

func (c console) serveShop(
	ctx context.Context, cfg config.Config, variables map[string]string, listener net.Listener,
) error {
	cfg.Drain = 0
	cfg.LocalWebhooks = true
	cfg.LogFormat = cmp.Or(cfg.LogFormat, "text")
	var demoShop shop
	return server.Run(ctx, server.Options{
		Config:   cfg,
		Version:  version,
		Stderr:   c.stderr,
		Listener: listener,
		Prepare: func(ctx context.Context, db *db.DB, resolver *keys.Resolver) (err error) {
			if demoShop, err = c.openShop(ctx, db, resolver, cfg); err != nil {
				return err
			}
			variables["STOREROOM_DEMO_KEY"] = demoShop.Key
			variables["STOREROOM_DEMO_PASSWORD"] = demoShop.Password
			maps.DeleteFunc(variables, func(name, _ string) bool { return !config.IsVariable(name) })
			return config.WriteFile(c.dir, variables)
		},
		Started: func() error { return c.printWelcome(demoShop, cfg.BaseURL.String()) },
	})
}

// devVariables returns the environment and those variables of the last start that belong to the data. The addresses of
// the last start may be outdated.
func (c console) devVariables(file map[string]string) (map[string]string, error) {
	variables := config.Environment(c.environ)
	if (variables["DATABASE_URL"] == "") != (variables["DATABASE_ADMIN_URL"] == "") {
		return nil, errors.New("set both DATABASE_URL (the runtime role) and DATABASE_ADMIN_URL (the migrator), " +
			"or neither to start a private PostgreSQL")
	}
	for _, name := range []string{"STOREROOM_KEY_PEPPERS", "STOREROOM_DEMO_KEY", "STOREROOM_DEMO_PASSWORD"} {
		if variables[name] == "" && file[name] != "" {
			variables[name] = file[name]
		}
	}
	if variables["STOREROOM_KEY_PEPPERS"] == "" {
		pepper := make([]byte, 32)
		rand.Read(pepper)
		variables["STOREROOM_KEY_PEPPERS"] = "1:" + hex.EncodeToString(pepper)
	}
	return variables, nil
}

// startServers starts the servers that the variables do not name, and sets their URLs in the variables.
func (c console) startServers(ctx context.Context, variables, file map[string]string) (*local.Servers, error) {
	servers, err := local.Start(ctx, filepath.Join(c.dir, ".local"), local.Options{
		Postgres: variables["DATABASE_URL"] == "",
		Redis:    variables["REDIS_URL"] == "",
		Durable:  true,
	})
	if err != nil {
		return nil, err
	}
	if servers.RedisURL != "" {
		variables["REDIS_URL"] = servers.RedisURL
	}
	if servers.AdminURL == "" {
		return servers, nil
	}
	variables["DATABASE_ADMIN_URL"], variables["DATABASE_URL"], err = migrations.CreateDatabase(
		ctx, servers.AdminURL, "storeroom", passwordOf(file["DATABASE_ADMIN_URL"]), passwordOf(file["DATABASE_URL"]))
	if err != nil {
		return nil, errors.Join(err, servers.Stop())
	}
	return servers, nil
}

// passwordOf returns the password in a URL, so that the URLs of the last start remain valid. It returns a random one
// if there is none.
func passwordOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if password, _ := u.User.Password(); password != "" {
			return password
		}
	}
	return rand.Text()
}
