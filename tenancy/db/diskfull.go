package db

import (
	"errors"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// IsDiskFull reports whether an error means that a file system has no space: the one of temporary files, or the one of
// PostgreSQL. Work that fails with it succeeds later without a change.
func IsDiskFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == "53100"
}
