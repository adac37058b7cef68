package changeplan

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// maxMappings is the number of headers whose mapping a tenant has.
const maxMappings = 100

// Header identifies files with the same columns.
type Header [32]byte

func compareHeaders(a, b Header) int { return bytes.Compare(a[:], b[:]) }

// Mappings returns the remembered mappings of some headers: the fields of their columns by position.
func Mappings(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, headers []Header,
) (map[Header][]string, error) {
	keys := make([][]byte, len(headers))
	for i, header := range headers {
		keys[i] = header[:]
	}
	type row struct {
		Header []byte
		Fields []string
	}
	rows, err := db.All[row](ctx, pool, tenant, `
		select header, array (select jsonb_array_elements_text(settings -> 'fields')) as fields
		  from import_settings
		 where tenant_id = $1 and header = any ($2)`, tenant, keys)
	found := map[Header][]string{}
	for _, r := range rows {
		found[Header(r.Header)] = r.Fields
	}
	return found, wrap(err, "read the mappings of headers")
}

// RememberMappings replaces the mappings of headers; nil deletes them. A tenant keeps the mappings of its last 100
// headers.
func RememberMappings(ctx context.Context, db *db.DB, tenant tenancy.ID, mappings map[Header][]string) error {
	err := db.Run(ctx, tenant, func(b *pgx.Batch) {
		for _, header := range slices.SortedFunc(maps.Keys(mappings), compareHeaders) {
			if mappings[header] == nil {
				b.Queue(`delete from import_settings where tenant_id = $1 and header = $2`, tenant, header[:])
				continue
			}
			b.Queue(`
				insert into import_settings (tenant_id, header, settings)
				values ($1, $2, jsonb_build_object('fields', $3::text[]))
				    on conflict (tenant_id, header) do update
				   set settings = excluded.settings, updated_at = excluded.updated_at`,
				tenant, header[:], mappings[header])
		}
		b.Queue(`
			delete from import_settings
			 where tenant_id = $1
			   and header in (
			       select header
			         from import_settings
			        where tenant_id = $1
			        order by updated_at desc, header
			       offset $2)`, tenant, maxMappings)
	})
	return wrap(err, "remember the mappings of headers")
}

// ForgetMappings deletes these mappings of headers, unless they have changed since.
func ForgetMappings(ctx context.Context, db *db.DB, tenant tenancy.ID, mappings map[Header][]string) error {
	err := db.Run(ctx, tenant, func(b *pgx.Batch) {
		for _, header := range slices.SortedFunc(maps.Keys(mappings), compareHeaders) {
			b.Queue(`
				delete from import_settings
				 where tenant_id = $1
				   and header = $2
				   and settings = jsonb_build_object('fields', $3::text[])`, tenant, header[:], mappings[header])
		}
	})
	return wrap(err, "forget the mappings of headers")
}
