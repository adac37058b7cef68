package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/storeroom/storeroom/deploy/citus"
)

// Node makes PostgreSQL a node of a Citus cluster. Nodes log in to each other as deploy/citus configures them: with a
// certificate. Clients log in with a password, without TLS.
type Node struct {
	// Bin is the directory of the programs of a PostgreSQL with Citus.
	Bin string
	// Certificates is the directory that CreateCertificates returned.
	Certificates string
	// Password is that of the superuser. Citus gives the passwords of the coordinator to all nodes.
	Password string
}

// nodeAddress is the address of all nodes, which have different ports.
const nodeAddress = "127.0.0.1"

// CreateCertificates creates an authority in a new directory and one certificate for all nodes of this machine. It
// returns the directory of the certificate.
func CreateCertificates(ctx context.Context, dir string) (string, error) {
	for _, args := range [][]string{{"ca", dir}, {"node", dir, nodeAddress}} {
		if err := runScript(ctx, "certificates.sh", nil, args...); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, nodeAddress), nil
}

// StartCluster starts a coordinator, which is the first result, and workers in directories of dir.
func StartCluster(ctx context.Context, dir, bin string, workers int) (nodes []*Servers, err error) {
	certificates, err := CreateCertificates(ctx, filepath.Join(dir, "certificates"))
	if err != nil {
		return nil, err
	}
	options := Options{Postgres: true, Node: &Node{Bin: bin, Certificates: certificates, Password: rand.Text()}}
	for n := range 1 + workers {
		node, err := Start(ctx, filepath.Join(dir, fmt.Sprintf("node%d", n)), options)
		if err != nil {
			return nil, errors.Join(err, StopAll(nodes))
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// StopAll stops the servers of several directories.
func StopAll(all []*Servers) error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Stop())
	}
	return errors.Join(errs...)
}

// configureNode runs node.sh. Its files belong to the account, as all of the data directory.
func (d *directory) configureNode(ctx context.Context, data string, n *Node) error {
	const address = nodeAddress + "/32"
	err := runScript(ctx, "node.sh", []string{"SUPERUSER=" + superuser}, data, n.Certificates, address, address)
	if err != nil {
		return err
	}
	hba, err := os.OpenFile(filepath.Join(data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = hba.WriteString("hostnossl all all " + address + " scram-sha-256\n")
	errs := []error{err, hba.Close()}
	for _, pattern := range []string{"*.conf", "storeroom-*"} {
		files, err := filepath.Glob(filepath.Join(data, pattern))
		errs = append(errs, err)
		for _, file := range files {
			errs = append(errs, d.account.own(file))
		}
	}
	return errors.Join(errs...)
}

// runScript runs a script of package citus.
func runScript(ctx context.Context, name string, environ []string, args ...string) error {
	dir, err := os.MkdirTemp("", "storeroom-citus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, citus.Files); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{filepath.Join(dir, name)}, args...)...)
	cmd.Env = append(os.Environ(), environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
