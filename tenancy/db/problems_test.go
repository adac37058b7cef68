package db_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/db"
)

func TestProblemsLogOnlyChanges(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	problems := db.Problems{Begins: "it fails", Ends: "it works again"}
	failed := errors.New("no connection")
	for _, attempt := range []struct {
		key any
		err error
	}{
		{1, nil}, {1, failed}, {1, failed}, {2, failed}, {1, failed}, {2, nil}, {2, nil}, {1, nil}, {1, failed},
	} {
		problems.Report(t.Context(), logger, attempt.key, attempt.err, "key", attempt.key)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		for _, part := range []string{`msg="it fails" key=`, `msg="it works again" key=`} {
			if _, rest, found := strings.Cut(line, part); found {
				got = append(got, part[4:len(part)-5]+rest[:1])
			}
		}
	}
	want := `"it fails"1 "it fails"2 "it works again"2 "it works again"1 "it fails"1`
	if strings.Join(got, " ") != want {
		t.Errorf("the log has %s, want %s:\n%s", got, want, log.String())
	}
	if !strings.Contains(log.String(), "key=1 failed_attempts=3 ") {
		t.Errorf("the log does not count three failed attempts: %s", log.String())
	}
}
