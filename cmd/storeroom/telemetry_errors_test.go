package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// An error in a line of the log says what was attempted and what went wrong, and
// repeats no value.
func TestErrorsAreToldWithoutValues(t *testing.T) {
	t.Parallel()
	refused := &pgconn.PgError{
		Severity: "ERROR", Code: "23514", Message: `new row for "Axe" violates 7.50`, Detail: "Axe", TableName: "products", ColumnName: "price", ConstraintName: "products_price_check",
	}
	const told = "PostgreSQL: SQLSTATE=23514 constraint=products_price_check table=products column=price"
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"a sentinel", errors.New("no database connection is free"), "no database connection is free"},
		{"a refusal", refused, told},
		{"a wrapped refusal", fmt.Errorf("create product %q: %w", `A"x"e\`, refused), "create product …: " + told},
		{"several", errors.Join(fmt.Errorf("a: %w", refused), fmt.Errorf("b: %w", &pgconn.PgError{Severity: "ERROR", Code: "57014", Message: "Axe"})), "a: " + told + "\nb: PostgreSQL: SQLSTATE=57014"},
		{"a value that does not fit", fmt.Errorf("failed to encode args[1]: unable to encode %#v into binary format", "Axe"), "failed to encode args[…]: unable to encode … into binary format"},
		{"many of them", fmt.Errorf("unable to encode %#v", []string{"Axe", "Bow"}), "unable to encode []string{…, …}"},
		{"a number that does not fit", errors.New("cannot convert (-7.50, 8 9): 3000000000 is greater than the most"), "cannot convert (…, … …): … is greater than the most"},
		{"an address", &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5432}, Err: errors.New("connection refused")}, "dial tcp 192.0.2.1:5432: connection refused"},
		{"a panic", errors.New("panic: runtime error: index out of range [5] with length 3\ngoroutine 45 [running]:\nmain.f(0xc0)\n\t/src/f.go:12 +0x1d"),
			"panic: runtime error: index out of range […] with length …\ngoroutine … [running]:\nmain.f(0xc0)\n\t/src/f.go:12 +0x1d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := tell(test.err); got != test.want {
				t.Errorf("tell = %q, want %q", got, test.want)
			}
			var lines bytes.Buffer
			logger := slog.New(discreet{slog.NewTextHandler(&lines, nil)})
			logger.Error("plain", "error", test.err, "tenant", 7)
			logger.Error("in a group", slog.Group("g", "n", 1, "error", test.err))
			logger.With("error", test.err).WithGroup("g").Error("of a derived logger", "n", 1)
			logger.Info("without an error", "tenant", 7)
			if strings.Contains(lines.String(), "Axe") || strings.Count(lines.String(), "tenant=7") != 2 || strings.Count(lines.String(), "g.n=1") != 2 || strings.Count(lines.String(), "error=") != 3 {
				t.Errorf("the log holds a value, or lacks a part:\n%s", lines.String())
			}
		})
	}
}

// The access log is written for every request: to look for errors must not allocate.
func TestALineWithoutErrorsCostsNothingMore(t *testing.T) {
	logger, plain := slog.New(discreet{slog.NewJSONHandler(io.Discard, nil)}), slog.New(slog.NewJSONHandler(io.Discard, nil))
	line := func(l *slog.Logger) float64 {
		return testing.AllocsPerRun(100, func() {
			l.LogAttrs(t.Context(), slog.LevelInfo, "request", slog.String("a", "b"), slog.Int("c", 1), slog.Int("d", 1), slog.Int("e", 1), slog.Int("f", 1), slog.Int("g", 1), slog.Int("h", 1))
		})
	}
	if got, want := line(logger), line(plain); got > want {
		t.Errorf("a line makes %v allocations, want %v", got, want)
	}
}

// Values stand in quotes in every error of the packages that serve: that is how they
// are found again and left out. What stands without is one of a few words of ours.
func TestErrorsQuoteValues(t *testing.T) {
	t.Parallel()
	ours := []string{
		"api/decode.go: %san object has more than %d fields", "api/decode.go: %s%s is there twice", // what the client alone is told
		`api/middleware.go: panic: %v\n%s`, "api/settings/render.go: page %s: %w",
		"catalog/references.go: list %s: %w", "catalog/references.go: add %s: %w",
		"ratelimit/redis.go: parse the Redis URL: %s",
		"reports/sales/verify.go: count days in %s: %w", "reports/custom.go: sum up sales by %s: %w",
		"tenancy/tenants.go: %s: %w",
	}
	unquoted, found := regexp.MustCompile(`fmt\.Errorf\("((?:\\.|[^"\\])*%[+#]?[sv](?:\\.|[^"\\])*)"`), 0
	root := os.DirFS("../..")
	for _, folder := range []string{"api", "catalog", "keys", "ratelimit", "reports", "tenancy"} {
		err := fs.WalkDir(root, folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "tenancy/tenancytest") {
				return err
			}
			source, err := fs.ReadFile(root, path)
			for _, format := range unquoted.FindAllStringSubmatch(string(source), -1) {
				found++
				if !slices.Contains(ours, path+": "+format[1]) {
					t.Errorf("%s: %q puts a value into an error that the log cannot tell from it: use %%q, or name it among ours", path, format[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no error was looked at")
	}
}
