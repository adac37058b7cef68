package changeplan

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// maxSettings is the number of headers whose settings a tenant has.
const maxSettings = 100

// Header identifies files with the same columns.
type Header [32]byte

func compareHeaders(a, b Header) int { return bytes.Compare(a[:], b[:]) }

// RememberedSettings returns what RememberSettings stored for some of these headers, as JSON.
func RememberedSettings(
	ctx context.Context, db *tenancy.DB, tenant tenancy.ID, headers []Header,
) (map[Header][]byte, error) {
	keys := make([][]byte, len(headers))
	for i, header := range headers {
		keys[i] = header[:]
	}
	type row struct{ Header, Settings []byte }
	rows, err := tenancy.All[row](ctx, db, tenant, `
		select header, settings
		  from import_settings
		 where tenant_id = $1 and header = any ($2)`, tenant, keys)
	found := map[Header][]byte{}
	for _, r := range rows {
		found[Header(r.Header)] = r.Settings
	}
	return found, wrap(err, "read the settings of headers")
}

// RememberSettings replaces the settings of headers; nil deletes them. A tenant keeps those of the last 100 headers.
func RememberSettings(
	ctx context.Context, db *tenancy.DB, tenant tenancy.ID, settings map[Header][]byte,
) error {
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
				   set settings = excluded.settings, updated_at = excluded.updated_at`, tenant, header[:], settings[header])
		}
		b.Queue(`
			delete from import_settings
			 where tenant_id = $1
			   and header in (
			       select header
			         from import_settings
			        where tenant_id = $1
			        order by updated_at desc, header
			       offset $2)`, tenant, maxSettings)
	})
	return wrap(err, "remember the settings of headers")
}

// ForgetSettings deletes the settings of headers that are still these.
func ForgetSettings(ctx context.Context, db *tenancy.DB, tenant tenancy.ID, settings map[Header][]byte) error {
	err := db.Run(ctx, tenant, func(b *pgx.Batch) {
		for _, header := range slices.SortedFunc(maps.Keys(settings), compareHeaders) {
			b.Queue(`delete from import_settings where tenant_id = $1 and header = $2 and settings = $3`,
				tenant, header[:], settings[header])
		}
	})
	return wrap(err, "forget the settings of headers")
}
