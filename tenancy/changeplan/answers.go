package changeplan

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// maxHeaders is the number of headers of which a tenant has settings.
const maxHeaders = 100

// Header identifies files with the same columns.
type Header [32]byte

func compareHeaders(a, b Header) int { return bytes.Compare(a[:], b[:]) }

// OfHeader are the settings that are remembered for files with a header.
type OfHeader struct {
	Settings  json.RawMessage
	UpdatedAt time.Time
}

// Remembered returns the settings that are remembered for files with some headers.
func Remembered(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, headers []Header,
) (map[Header]OfHeader, error) {
	keys := make([][]byte, len(headers))
	for i, header := range headers {
		keys[i] = header[:]
	}
	type row struct {
		Header []byte
		OfHeader
	}
	rows, err := db.All[row](ctx, pool, tenant, `
		select header, settings, updated_at
		  from import_settings
		 where tenant_id = $1 and header = any ($2)`, tenant, keys)
	found := map[Header]OfHeader{}
	for _, r := range rows {
		found[Header(r.Header)] = r.OfHeader
	}
	return found, wrap(err, "read the settings of headers")
}

// Remember replaces the settings of headers; nil deletes them. A tenant keeps those of its last 100 headers.
func Remember(ctx context.Context, db *db.DB, tenant tenancy.ID, settings map[Header]json.RawMessage) error {
	err := db.Run(ctx, tenant, func(b *pgx.Batch) {
		for _, header := range slices.SortedFunc(maps.Keys(settings), compareHeaders) {
			if settings[header] == nil {
				b.Queue(`delete from import_settings where tenant_id = $1 and header = $2`, tenant, header[:])
				continue
			}
			b.Queue(`
				insert into import_settings (tenant_id, header, settings)
				values ($1, $2, $3)
				    on conflict (tenant_id, header) do update
				   set settings = excluded.settings, updated_at = excluded.updated_at`,
				tenant, header[:], settings[header])
		}
		b.Queue(`
			delete from import_settings
			 where tenant_id = $1
			   and header in (
			       select header
			         from import_settings
			        where tenant_id = $1
			        order by updated_at desc, header
			       offset $2)`, tenant, maxHeaders)
	})
	return wrap(err, "remember the settings of headers")
}
