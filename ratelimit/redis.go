package ratelimit

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// CheckURL returns an error for an invalid Redis URL. It does not connect, and its error does not quote the URL.
func CheckURL(address string) error {
	_, _, err := parse(address)
	return err
}

// parse returns the options of a single server, or of a cluster if the URL names further nodes (addr=host:port).
func parse(address string) (*redis.Options, *redis.ClusterOptions, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, parseError(err)
	}
	if !u.Query().Has("addr") {
		single, err := redis.ParseURL(address)
		if err != nil {
			return nil, nil, parseError(err)
		}
		return single, nil, nil
	}
	if strings.Trim(u.Path, "/0") != "" {
		return nil, nil, errors.New("parse the Redis URL: a cluster has only database 0")
	}
	cluster, err := redis.ParseClusterURL(address)
	if err != nil {
		return nil, nil, parseError(err)
	}
	return nil, cluster, nil
}

// parseError describes an error without the text of the URL: the parsers quote it, and an unescaped password can
// end up in any part of it.
func parseError(err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return errors.New("parse the Redis URL: not a valid URL; special characters in a password are written like %23")
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "redis: "), ":")
	return fmt.Errorf("parse the Redis URL: %s", kind)
}

// connect returns a client that never waits longer than a decision and never retries. The defaults of go-redis wait
// up to ten seconds for a hung server, and a retry could count a request twice. Redirects in a cluster stay
// enabled: a node that redirects a command has not executed it.
func connect(address string, logger *slog.Logger, s settings) (*nodes, error) {
	// go-redis prints a line for each failed dial. The breaker logs each outage once.
	logging.Disable()
	single, cluster, err := parse(address)
	if err != nil {
		return nil, err
	}
	newClient := func(o *redis.Options) *redis.Client {
		o.MaxRetries = -1
		o.ContextTimeoutEnabled = true
		o.DialerRetries = 1
		// The context of a decision is shorter; these bound heartbeats, and how long Close waits for a hung server.
		wait := max(time.Second, s.timeout)
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = wait, wait, wait, wait
		// Maintenance notifications can extend timeouts to ten seconds.
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClient(o)
	}
	n := &nodes{logger: logger, settings: s, breakers: map[string]*breaker{}}
	if cluster == nil {
		client := newClient(single)
		n.client, n.server = client, single.Addr
		pipeline, err := client.AutoPipeline()
		if err != nil {
			return nil, err
		}
		n.send = pipeline.Process
		return n, nil
	}
	cluster.NewClient = newClient
	cluster.MaxRedirects = 3
	cluster.ReadOnly, cluster.RouteByLatency, cluster.RouteRandomly = false, false, false
	cluster.DisableRoutingPolicies = true // they may ask a node about commands
	n.cluster = redis.NewClusterClient(cluster)
	n.client, n.send = n.cluster, n.cluster.Process
	return n, nil
}
