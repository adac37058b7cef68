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
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// remembered are the answers of a user for files with the same columns.
type remembered struct {
	// Fields are the fields of a mapping by position of the columns, because names can differ in case and spaces.
	Fields   []string          `json:"fields,omitempty"`
	Answers  map[string]string `json:"answers,omitempty"`  // to questions about such a file, by ID
	Statuses map[string]string `json:"statuses,omitempty"` // that such a file has
	at       time.Time         // when they were stored
}

// Earlier is a setting that comes from an earlier import.
type Earlier struct {
	Setting string    `json:"setting"`
	File    string    `json:"file,omitempty"` // of this import, if the setting is its mapping
	At      time.Time `json:"at"`             // when the earlier import was applied
}

// isKept reports whether changed settings have what the earlier import had.
func (e Earlier) isKept(before, after Settings) bool {
	switch e.Setting {
	case "mapping":
		_, exists := after.Mapping[e.File]
		return exists && maps.Equal(before.Mapping[e.File], after.Mapping[e.File])
	case "statuses":
		return after.Statuses != nil && maps.Equal(before.Statuses, after.Statuses)
	}
	return after.Answer(e.Setting) != "" && before.Answer(e.Setting) == after.Answer(e.Setting)
}

// settingsOf returns the names of settings that come from earlier imports. It is never nil.
func settingsOf(all []Earlier) []string {
	names := []string{}
	for _, e := range all {
		names = append(names, e.Setting)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// open is Open with the remembered answers to questions that given does not answer. It returns the settings that it
// used, and which of them are remembered.
func (m *Importer) open(ctx context.Context, tenant tenancy.ID, dir fs.FS, of Tenant, given Settings) (
	set *Set, used Settings, earlier []Earlier, err error,
) {
	if set, err = Open(ctx, dir, "", of, given); err != nil {
		return nil, given, nil, err
	}
	byFile, err := m.recall(ctx, tenant, set, given)
	if err != nil || len(byFile) == 0 {
		return set, given, nil, err
	}
	used, earlier = recallAnswers(given, byFile)
	best := set
	if len(earlier) > 0 {
		if best, err = Open(ctx, dir, "", of, used); err != nil {
			return set, given, nil, notUsable(err)
		}
	}
	withMapping, mapped := recallMappings(used, byFile, best.Files)
	if len(mapped) == 0 {
		return best, used, earlier, nil
	}
	again, err := Open(ctx, dir, "", of, withMapping)
	if err != nil {
		return set, given, nil, notUsable(err) // such as a field that no longer exists
	}
	return again, withMapping, append(earlier, mapped...), nil
}

// notUsable returns nil if the settings are the reason for an error.
func notUsable(err error) error {
	if _, isInvalid := errors.AsType[tenancy.InvalidError](err); isInvalid {
		return nil
	}
	return err
}

// headerOf identifies the columns of a file, so that answers can be remembered. If it is asked how the characters are
// encoded, the names are as they are before the answer.
func headerOf(f File, questions []Question, settings Settings) changeplan.Header {
	columns := f.Header
	i := slices.IndexFunc(questions, func(q Question) bool { return q.ID == "charset" && q.File == f.Name })
	switch {
	case slices.Contains(f.Answered, "charset"):
		columns = table.Undecoded(columns, settings.Charset)
	case i >= 0:
		columns = table.Undecoded(columns, questions[i].Choices[0])
	}
	var normal []string
	for _, column := range columns {
		normal = append(normal, table.Normal(column))
	}
	return sha256.Sum256([]byte(strings.Join(normal, "\n")))
}

// recall returns what is remembered for each of the files that have something.
func (m *Importer) recall(
	ctx context.Context, tenant tenancy.ID, set *Set, given Settings,
) (map[int]remembered, error) {
	var headers []changeplan.Header
	for _, f := range set.Files {
		headers = append(headers, headerOf(f, set.Questions, given))
	}
	stored, err := changeplan.Remembered(ctx, m.db, tenant, headers)
	if err != nil {
		return nil, err
	}
	byFile := map[int]remembered{}
	for i, f := range set.Files {
		of, exists := stored[headers[i]]
		if !exists || len(f.Header) == 0 {
			continue
		}
		r := remembered{at: of.UpdatedAt}
		if err := json.Unmarshal(of.Settings, &r); err != nil {
			return nil, fmt.Errorf("read what is remembered for %s: %w", f.Name, err)
		}
		byFile[i] = r
	}
	return byFile, nil
}

// recallAnswers adds remembered answers, unless those of two files differ.
func recallAnswers(given Settings, byFile map[int]remembered) (used Settings, earlier []Earlier) {
	used = given
	answers, known := used.answers(), given.answers()
	differs, at := map[string]bool{}, map[string]time.Time{}
	statuses := map[string]string{}
	for _, of := range byFile {
		last := func(id string) {
			if of.at.After(at[id]) {
				at[id] = of.at
			}
		}
		for id, answer := range of.Answers {
			if setting := answers[id]; setting != nil && *known[id] == "" {
				differs[id] = differs[id] || *setting != "" && *setting != answer
				*setting = answer
				last(id)
			}
		}
		for status, meaning := range of.Statuses {
			differs["statuses"] = differs["statuses"] || statuses[status] != "" && statuses[status] != meaning
			statuses[status] = meaning
			last("statuses")
		}
	}
	for id, setting := range answers {
		if differs[id] {
			*setting = ""
		}
		if *setting != *known[id] {
			earlier = append(earlier, Earlier{Setting: id, At: at[id]})
		}
	}
	if len(statuses) > 0 && !differs["statuses"] {
		earlier = append(earlier, Earlier{Setting: "statuses", At: at["statuses"]})
		maps.Copy(statuses, given.Statuses)
		used.Statuses = statuses
	}
	slices.SortFunc(earlier, func(a, b Earlier) int { return strings.Compare(a.Setting, b.Setting) })
	return used, earlier
}

// recallMappings adds remembered mappings of files without one.
func recallMappings(
	given Settings, byFile map[int]remembered, files []File,
) (used Settings, earlier []Earlier) {
	used = given
	if used.Mapping = maps.Clone(given.Mapping); used.Mapping == nil {
		used.Mapping = map[string]map[string]string{}
	}
	for i, f := range files {
		fields := byFile[i].Fields
		if _, mapped := given.Mapping[f.Name]; mapped || len(fields) == 0 || len(fields) != len(f.Header) {
			continue
		}
		mapping := map[string]string{}
		for i, column := range f.Header {
			if mapping[column] == "" {
				mapping[column] = fields[i]
			}
		}
		used.Mapping[f.Name] = mapping
		earlier = append(earlier, Earlier{"mapping", f.Name, byFile[i].at})
	}
	return used, earlier
}

// toRemember returns the answers that the next import of files with the same headers uses. It returns nil for a header
// without any, or with different ones in two files. Those of imports by the command are not remembered.
func (d details) toRemember() (map[changeplan.Header]json.RawMessage, error) {
	if d.Remembered == nil {
		return nil, nil
	}
	all, differs := map[changeplan.Header]json.RawMessage{}, map[changeplan.Header]bool{}
	for _, f := range d.Files {
		if len(f.Header) == 0 {
			continue
		}
		header := headerOf(f, nil, d.Settings)
		if _, exists := all[header]; !exists {
			all[header] = nil
		}
		of := d.answersOf(f)
		if of == nil {
			continue
		}
		content, err := json.Marshal(of)
		if err != nil {
			return nil, err
		}
		differs[header] = differs[header] || all[header] != nil && string(all[header]) != string(content)
		all[header] = content
	}
	for header := range all {
		if differs[header] {
			all[header] = nil
		}
	}
	return all, nil
}

// answersOf returns the answers about a file, or nil.
func (d details) answersOf(f File) *remembered {
	of := &remembered{}
	mapping, mapped := d.Settings.Mapping[f.Name]
	if !mapped && len(f.Answered) == 0 {
		return nil
	}
	for _, column := range f.Header {
		if mapped {
			of.Fields = append(of.Fields, mapping[column])
		}
	}
	answers := d.Settings.answers()
	for _, id := range f.Answered {
		if id == "statuses" {
			of.Statuses = d.Settings.Statuses
			continue
		}
		if of.Answers == nil {
			of.Answers = map[string]string{}
		}
		of.Answers[id] = *answers[id]
	}
	return of
}

// remember stores the answers of a plan that is being applied.
func (m *Importer) remember(ctx context.Context, tenant tenancy.ID, plan changeplan.Plan) error {
	d, err := readDetails(plan)
	if err != nil {
		return err
	}
	answers, err := d.toRemember()
	if err != nil {
		return err
	}
	return changeplan.Remember(ctx, m.db, tenant, answers)
}

// forget deletes the answers of a plan that is being undone, because they may be the reason for the undo. Those that a
// later import has replaced stay.
func (m *Importer) forget(ctx context.Context, tenant tenancy.ID, plan changeplan.Plan) error {
	d, err := readDetails(plan)
	if err != nil {
		return err
	}
	answers, err := d.toRemember()
	if err != nil {
		return err
	}
	maps.DeleteFunc(answers, func(_ changeplan.Header, of json.RawMessage) bool { return of == nil })
	return changeplan.Forget(ctx, m.db, tenant, answers)
}
