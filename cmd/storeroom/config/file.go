package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Environment returns the variables of environ that are not empty.
func Environment(environ []string) map[string]string {
	variables := env.ToMap(environ)
	maps.DeleteFunc(variables, func(_, value string) bool { return value == "" })
	return variables
}

// Merge returns the variables of both maps. The environment overrides the file.
func Merge(file, environment map[string]string) map[string]string {
	all := maps.Clone(file)
	maps.Copy(all, environment)
	return all
}

// FilePath returns the path of the file that dev writes.
func FilePath(dir string) string { return filepath.Join(dir, ".local", "env") }

// ReadFile returns the variables of the file, or an empty map if the file does not exist. Each line is NAME=value.
func ReadFile(dir string) (map[string]string, error) {
	variables := map[string]string{}
	content, err := os.ReadFile(FilePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return variables, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the saved variables: %w", err)
	}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		line = strings.TrimSpace(line)
		name, value, found := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case !found:
			return nil, fmt.Errorf("%s line %d: expected NAME=value", FilePath(dir), number)
		case value != "":
			variables[name] = value
		}
	}
	return variables, nil
}

// WriteFile replaces the file atomically. Only its owner can read it.
func WriteFile(dir string, variables map[string]string) error {
	var content strings.Builder
	content.WriteString("# Written by `storeroom dev`. All commands in this directory read it.\n")
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		fmt.Fprintf(&content, "%s=%s\n", name, variables[name])
	}
	path := FilePath(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", []byte(content.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
