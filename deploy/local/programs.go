package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// minPostgres is the oldest PostgreSQL that the service supports.
const minPostgres = 15

// postgresDirectories are the locations of PostgreSQL packages outside PATH: Debian and
// Ubuntu, Red Hat, Homebrew.
var postgresDirectories = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// postgresBin returns the directory of PostgreSQL's programs: of the version that created
// the cluster in data, or of the newest if there is no cluster.
func postgresBin(ctx context.Context, data string) (string, error) {
	made, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	wanted, _ := strconv.Atoi(strings.TrimSpace(string(made))) // 0 without a cluster
	found, newest := "", 0
	for _, bin := range postgresBins() {
		version := postgresVersion(ctx, bin)
		if version > newest && (version == wanted || wanted == 0 && version >= minPostgres) {
			found, newest = bin, version
		}
	}
	switch {
	case found != "":
		return found, nil
	case wanted != 0:
		return "", fmt.Errorf("the data in %s needs PostgreSQL %d, which is not installed: install it, or remove the data",
			data, wanted)
	}
	return "", fmt.Errorf("PostgreSQL %d or later is not installed: install the packages postgresql and "+
		"postgresql-contrib (Debian, Ubuntu) or postgresql@17 (Homebrew)", minPostgres)
}

// postgresBins lists the directories that may contain a server, PATH first.
func postgresBins() []string {
	var bins []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		bins = append(bins, filepath.Dir(path))
	}
	for _, place := range postgresDirectories {
		matches, _ := filepath.Glob(place) // the patterns are well-formed
		bins = append(bins, matches...)
	}
	return bins
}

var postgresVersionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// postgresVersion returns the major version of the server in bin, or 0 if there is none.
func postgresVersion(ctx context.Context, bin string) int {
	out, _ := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	match := postgresVersionPattern.FindSubmatch(out)
	if match == nil {
		return 0
	}
	version, _ := strconv.Atoi(string(match[1]))
	return version
}
