package server

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

const productsCheck = "PostgreSQL: SQLSTATE=23514 constraint=products_price_check table=products column=price"

// checkViolation is an error of PostgreSQL whose message and detail contain values.
var checkViolation = &pgconn.PgError{
	Severity:       "ERROR",
	Code:           "23514",
	Message:        `new row for "Axe" violates 7.50`,
	Detail:         "Axe",
	TableName:      "products",
	ColumnName:     "price",
	ConstraintName: "products_price_check",
}

func TestErrorsAreLoggedWithoutValues(t *testing.T) {
	t.Parallel()
	canceled := &pgconn.PgError{Severity: "ERROR", Code: "57014", Message: "Axe"}
	address := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5432}
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"sentinel", errors.New("no database connection is free"), "no database connection is free"},
		{"PostgreSQL error", checkViolation, productsCheck},
		{
			"wrapped PostgreSQL error",
			fmt.Errorf("create product %q: %w", `A"x"e\`, checkViolation),
			"create product …: " + productsCheck,
		},
		{
			"several errors",
			errors.Join(fmt.Errorf("a: %w", checkViolation), fmt.Errorf("b: %w", canceled)),
			"a: " + productsCheck + "\nb: PostgreSQL: SQLSTATE=57014",
		},
		{
			"value that cannot be encoded",
			fmt.Errorf("failed to encode args[1]: unable to encode %#v into binary format", "Axe"),
			"failed to encode args[…]: unable to encode … into binary format",
		},
		{
			"values that cannot be encoded",
			fmt.Errorf("unable to encode %#v", []string{"Axe", "Bow"}),
			"unable to encode []string{…, …}",
		},
		{
			"numbers",
			errors.New("cannot convert (-7.50, 8 9): 3000000000 is greater than the most"),
			"cannot convert (…, … …): … is greater than the most",
		},
		{
			"network address",
			&net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: errors.New("connection refused")},
			"dial tcp 192.0.2.1:5432: connection refused",
		},
		{
			"panic",
			errors.New("panic: index out of range [5] with length 3\n" +
				"goroutine 45 [running]:\nmain.f(0xc0)\n\t/src/f.go:12 +0x1d"),
			"panic: index out of range […] with length …\n" +
				"goroutine … [running]:\nmain.f(0xc0)\n\t/src/f.go:12 +0x1d",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := redactError(test.err); got != test.want {
				t.Errorf("redactError = %q, want %q", got, test.want)
			}
			var log bytes.Buffer
			logger := slog.New(logHandler{slog.NewTextHandler(&log, nil), slog.DiscardHandler, slog.LevelInfo})
			logger.Error("plain", "error", test.err, "tenant", 7)
			logger.Error("in a group", slog.Group("g", "n", 1, "error", test.err))
			logger.With("error", test.err).WithGroup("g").Error("of a derived logger", "n", 1)
			logger.Info("without an error", "tenant", 7)
			if strings.Contains(log.String(), "Axe") {
				t.Errorf("the log contains a value:\n%s", log.String())
			}
			for text, want := range map[string]int{"tenant=7": 2, "g.n=1": 2, "error=": 3} {
				if got := strings.Count(log.String(), text); got != want {
					t.Errorf("the log contains %s %d times, want %d:\n%s", text, got, want, log.String())
				}
			}
		})
	}
}

// Every request writes a record, so the search for errors must not allocate.
func TestARecordWithoutErrorsCostsNoAllocation(t *testing.T) {
	plain := slog.NewJSONHandler(io.Discard, nil)
	allocations := func(handler slog.Handler) float64 {
		logger := slog.New(handler)
		return testing.AllocsPerRun(100, func() {
			logger.LogAttrs(t.Context(), slog.LevelInfo, "request",
				slog.String("a", "b"), slog.Int("c", 1), slog.Int("d", 1), slog.Int("e", 1),
				slog.Int("f", 1), slog.Int("g", 1), slog.Int("h", 1))
		})
	}
	if got, want := allocations(logHandler{plain, slog.DiscardHandler, slog.LevelInfo}), allocations(plain); got > want {
		t.Errorf("a record makes %v allocations, want %v", got, want)
	}
}

// redactError finds values by their quotes, so every error of these packages must quote its values. The exceptions
// insert words of the program.
func TestErrorsQuoteValues(t *testing.T) {
	t.Parallel()
	unquotedAllowed := []string{
		"%san object has more than %d fields", "%s%s is there twice", "duplicate field %s%s", // sent to the client only
		`panic: %v\n%s`, `%w: %v\n%s`, "page %s: %w", "list %s: %w", "add %s: %w", "parse the Redis URL: %s",
		"count days in %s: %w", "read sales by %s: %w", "change the time zone of sales to %s: %w", "%s: %w", "%w: %s", "%w: %s: %w",
		"%v has %d fields for %d columns",                                                // a type
		"plan %s: %w", "%s is missing", "record %d %s of plan %d: %w", "read all %s: %w", // words of the program
		"must not set default_query_exec_mode to %v, with which no order can be written: ", // a mode of pgx
		"%w: %v", // what the compiler of WebAssembly cannot do
	}
	unquoted := regexp.MustCompile(`fmt\.Errorf\("((?:\\.|[^"\\])*%[+#]?[sv](?:\\.|[^"\\])*)"`)
	found := 0
	root := os.DirFS("../../..")
	for _, folder := range []string{"api", "catalog", "keys", "ratelimit", "reports", "tenancy"} {
		err := fs.WalkDir(root, folder, func(path string, _ fs.DirEntry, err error) error {
			// An error of a file is a text for the person who sent it. It is stored, and not logged.
			// The programs in api/clients are examples.
			if strings.HasPrefix(path, "api/imports") || strings.HasPrefix(path, "api/clients") || err != nil || !strings.HasSuffix(path, ".go") ||
				strings.Contains(path, "test") {
				return err
			}
			source, err := fs.ReadFile(root, path)
			for _, format := range unquoted.FindAllStringSubmatch(string(source), -1) {
				found++
				if !slices.Contains(unquotedAllowed, format[1]) {
					t.Errorf("%s: %q does not quote a value: use %%q, or add it to unquotedAllowed", path, format[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no error was checked")
	}
}
