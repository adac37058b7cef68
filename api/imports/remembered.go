package imports

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// open is Open with the remembered mappings of files without a mapping in given. It returns the settings that it used,
// and the names of the remembered ones.
func (m *Importer) open(ctx context.Context, tenant tenancy.ID, dir fs.FS, of Tenant, given Settings) (
	set *Set, used Settings, names []string, err error,
) {
	if set, err = Open(ctx, dir, "", of, given); err != nil {
		return nil, given, nil, err
	}
	used, names, err = m.recall(ctx, tenant, set.Files, given)
	if err != nil || len(names) == 0 {
		return set, given, nil, err
	}
	again, err := Open(ctx, dir, "", of, used)
	if _, isInvalid := errors.AsType[tenancy.InvalidError](err); isInvalid {
		return set, given, nil, nil // a field that no longer exists
	}
	return again, used, names, err
}

// headerOf identifies the columns of a file, so that their mapping can be remembered.
func headerOf(columns []string) changeplan.Header {
	var normal []string
	for _, column := range columns {
		normal = append(normal, table.Normal(column))
	}
	return sha256.Sum256([]byte(strings.Join(normal, "\n")))
}

// recall adds remembered mappings to the settings that a user gave.
func (m *Importer) recall(ctx context.Context, tenant tenancy.ID, files []File, given Settings) (
	used Settings, names []string, err error,
) {
	var headers []changeplan.Header
	for _, f := range files {
		headers = append(headers, headerOf(f.Header))
	}
	stored, err := changeplan.Mappings(ctx, m.db, tenant, headers)
	if err != nil || len(stored) == 0 {
		return given, nil, err
	}
	used = given
	if used.Mapping = maps.Clone(given.Mapping); used.Mapping == nil {
		used.Mapping = map[string]map[string]string{}
	}
	for i, f := range files {
		fields := stored[headers[i]]
		if _, mapped := given.Mapping[f.Name]; mapped || len(fields) == 0 || len(fields) != len(f.Header) {
			continue
		}
		mapping := map[string]string{}
		for i, column := range f.Header {
			if mapping[column] == "" {
				mapping[column] = fields[i]
			}
		}
		used.Mapping[f.Name], names = mapping, []string{"mapping"}
	}
	return used, names, nil
}

// toRemember returns the mappings that the next import of files with the same headers uses, by position of the columns,
// because names can differ in case and spaces. It returns nil for a header without a mapping, or with different
// mappings in two files. Mappings of imports by the command are not remembered.
func (d details) toRemember() map[changeplan.Header][]string {
	if d.Remembered == nil {
		return nil
	}
	mappings, differs := map[changeplan.Header][]string{}, map[changeplan.Header]bool{}
	for _, f := range d.Files {
		mapping, mapped := d.Settings.Mapping[f.Name]
		if len(f.Header) == 0 {
			continue
		}
		header := headerOf(f.Header)
		if _, exists := mappings[header]; !exists {
			mappings[header] = nil
		}
		if !mapped {
			continue
		}
		fields := make([]string, len(f.Header))
		for i, column := range f.Header {
			fields[i] = mapping[column]
		}
		differs[header] = differs[header] || mappings[header] != nil && !slices.Equal(mappings[header], fields)
		mappings[header] = fields
	}
	for header := range mappings {
		if differs[header] {
			mappings[header] = nil
		}
	}
	return mappings
}

// remember stores the mappings of a plan that is being applied.
func (m *Importer) remember(ctx context.Context, tenant tenancy.ID, plan changeplan.Plan) error {
	d, err := readDetails(plan)
	if err != nil {
		return err
	}
	return changeplan.RememberMappings(ctx, m.db, tenant, d.toRemember())
}

// forget deletes the mappings of a plan that is being undone, because they may be the reason for the undo. Mappings
// that a later import has replaced stay.
func (m *Importer) forget(ctx context.Context, tenant tenancy.ID, plan changeplan.Plan) error {
	d, err := readDetails(plan)
	if err != nil {
		return err
	}
	mappings := d.toRemember()
	maps.DeleteFunc(mappings, func(_ changeplan.Header, fields []string) bool { return fields == nil })
	return changeplan.ForgetMappings(ctx, m.db, tenant, mappings)
}
