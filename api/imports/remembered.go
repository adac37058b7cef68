package imports

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// remembered is what an import was applied with. The other settings than the mapping are those of the headers of all
// files together, because a user answers for all of them. The mapping is that of one header.
type remembered struct {
	Settings *Settings `json:"settings,omitempty"`
	Fields   []string  `json:"fields,omitempty"` // of the columns by position, because names can differ in case and spaces
}

// open is Open with remembered settings where given has none. It returns the settings that it used, and the names of the
// remembered ones among them.
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
		return set, given, nil, nil // a field or a time zone that no longer exists
	}
	return again, used, names, err
}

// headers returns the header of each file, by name, and the one of all together.
func headers(files []File) (byFile map[string]changeplan.Header, all changeplan.Header) {
	byFile = map[string]changeplan.Header{}
	for _, f := range files {
		if len(f.Header) > 0 {
			byFile[f.Name] = Fingerprint(f.Header)
		}
	}
	text := []byte("all files\n")
	sorted := slices.SortedFunc(maps.Values(byFile), func(a, b changeplan.Header) int {
		return slices.Compare(a[:], b[:])
	})
	for _, header := range sorted {
		text = append(text, header[:]...)
	}
	return byFile, sha256.Sum256(text)
}

// recall adds remembered settings to those that a user gave.
func (m *Importer) recall(ctx context.Context, tenant tenancy.ID, files []File, given Settings) (
	used Settings, names []string, err error,
) {
	byFile, all := headers(files)
	stored, err := changeplan.RememberedSettings(
		ctx, m.db, tenant, append(slices.Collect(maps.Values(byFile)), all))
	if err != nil || len(stored) == 0 {
		return given, nil, err
	}
	used = given
	used.Mapping = maps.Clone(given.Mapping)
	for _, f := range files {
		var r remembered
		if text := stored[byFile[f.Name]]; text != nil && json.Unmarshal(text, &r) != nil {
			return given, nil, fmt.Errorf("the remembered mapping of %q is invalid", f.Name)
		}
		if _, mapped := given.Mapping[f.Name]; mapped || len(r.Fields) != len(f.Header) || len(r.Fields) == 0 {
			continue
		}
		if used.Mapping == nil {
			used.Mapping = map[string]map[string]string{}
		}
		mapping := map[string]string{}
		for i, column := range f.Header {
			if mapping[column] == "" {
				mapping[column] = r.Fields[i]
			}
		}
		used.Mapping[f.Name], names = mapping, []string{"mapping"}
	}
	if text := stored[all]; text != nil {
		var r remembered
		if err := json.Unmarshal(text, &r); err != nil || r.Settings == nil {
			return given, nil, errors.New("the remembered settings of an import are invalid")
		}
		names = append(names, used.add(*r.Settings)...)
	}
	return used, names, nil
}

// add sets what is not set to the settings of others, but not the mapping, and returns the names of what it set.
func (s *Settings) add(others Settings) (names []string) {
	for _, setting := range []struct {
		name    string
		own, of *string
	}{
		{"date_order", &s.DateOrder, &others.DateOrder}, {"decimal", &s.Decimal, &others.Decimal},
		{"timezone", &s.Timezone, &others.Timezone}, {"channel", &s.Channel, &others.Channel},
		{"missing_sku", &s.MissingSKU, &others.MissingSKU}, {"refunds", &s.Refunds, &others.Refunds},
		{"tax_included", &s.TaxIncluded, &others.TaxIncluded},
	} {
		if *setting.own == "" && *setting.of != "" {
			*setting.own, names = *setting.of, append(names, setting.name)
		}
	}
	if !s.RestoreZeros && others.RestoreZeros {
		s.RestoreZeros, names = true, append(names, "restore_zeros")
	}
	return names
}

// toRemember returns what the next import with the same headers should know, and nil for what it should not: also for
// files with the same header and different mappings. Imports by the command are not remembered.
func (d details) toRemember() (map[changeplan.Header][]byte, error) {
	if d.Remembered == nil {
		return nil, nil
	}
	settings, differs := map[changeplan.Header][]byte{}, map[changeplan.Header]bool{}
	byFile, all := headers(d.Files)
	for _, f := range d.Files {
		header, exists := byFile[f.Name]
		if !exists {
			continue
		}
		if _, seen := settings[header]; !seen {
			settings[header] = nil
		}
		mapping, mapped := d.Settings.Mapping[f.Name]
		if !mapped {
			continue
		}
		r := remembered{Fields: make([]string, len(f.Header))}
		for i, column := range f.Header {
			r.Fields[i] = mapping[column]
		}
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		differs[header] = differs[header] || settings[header] != nil && string(settings[header]) != string(text)
		settings[header] = text
	}
	for header := range differs {
		if differs[header] {
			settings[header] = nil
		}
	}
	others := d.Settings
	others.Mapping = nil
	settings[all] = nil
	if text, err := json.Marshal(others); err != nil || string(text) == "{}" {
		return settings, err
	}
	text, err := json.Marshal(remembered{Settings: &others})
	settings[all] = text
	return settings, err
}

// remember stores the settings of a plan that is being applied, for the next import with the same headers.
func (m *Importer) remember(ctx context.Context, tenant tenancy.ID, plan changeplan.Plan) error {
	d, err := readDetails(plan)
	if err != nil {
		return err
	}
	settings, err := d.toRemember()
	if err != nil {
		return err
	}
	return changeplan.RememberSettings(ctx, m.db, tenant, settings)
}

// forget deletes the settings of a plan that is being undone, unless a later import has replaced them: they may be the
// reason for undoing it.
func (m *Importer) forget(ctx context.Context, tenant tenancy.ID, plan changeplan.Plan) error {
	d, err := readDetails(plan)
	if err != nil {
		return err
	}
	settings, err := d.toRemember()
	if err != nil {
		return err
	}
	maps.DeleteFunc(settings, func(_ changeplan.Header, text []byte) bool { return text == nil })
	return changeplan.ForgetSettings(ctx, m.db, tenant, settings)
}
