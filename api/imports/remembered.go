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
	Fields  []string          `json:"fields,omitempty"`
	Answers map[string]string `json:"answers,omitempty"` // by the keys of questions
	at      time.Time         // when they were stored
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
	var headers []changeplan.Header
	for _, f := range set.Files {
		headers = append(headers, headerOf(f, set.Questions, given))
	}
	known, err := m.recall(ctx, tenant, headers)
	if err != nil || len(known) == 0 {
		return set, given, nil, err
	}
	best := set
	for isOwn := false; !isOwn; {
		best = set
		if used, earlier = recallAnswers(given, known); len(earlier) > 0 {
			if best, err = Open(ctx, dir, "", of, used); err != nil {
				return set, given, nil, notUsable(err)
			}
		}
		isOwn = forgetForeign(best, given, known, headers)
	}
	withMapping := used
	withMapping.Mapping = maps.Clone(used.Mapping)
	for i, f := range best.Files {
		if of := known[headers[i]]; withMapping.recallMapping(f, of.Fields) {
			earlier = append(earlier, Earlier{"mapping", f.Name, of.at})
		}
	}
	if len(withMapping.Mapping) == len(used.Mapping) {
		return best, used, earlier, nil
	}
	again, err := Open(ctx, dir, "", of, withMapping)
	if err != nil {
		return set, given, nil, notUsable(err) // such as a field that no longer exists
	}
	return again, withMapping, earlier, nil
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

// recall returns what is remembered for headers.
func (m *Importer) recall(
	ctx context.Context, tenant tenancy.ID, headers []changeplan.Header,
) (map[changeplan.Header]remembered, error) {
	stored, err := changeplan.Remembered(ctx, m.db, tenant, headers)
	known := map[changeplan.Header]remembered{}
	for header, settings := range stored {
		of := remembered{at: settings.UpdatedAt}
		if err := json.Unmarshal(settings.Settings, &of); err != nil {
			return nil, fmt.Errorf("read remembered answers: %w", err)
		}
		known[header] = of
	}
	return known, err
}

// merge adds answers to others. Where two differ, the question has no answer, which is "".
func merge(into, from map[string]string) {
	for key, answer := range from {
		if known, exists := into[key]; exists && known != answer {
			answer = ""
		}
		into[key] = answer
	}
}

// recallAnswers adds remembered answers, unless those for two headers differ, and returns which settings have one.
func recallAnswers(given Settings, known map[changeplan.Header]remembered) (used Settings, earlier []Earlier) {
	answers, at := map[string]string{}, map[string]time.Time{}
	for _, of := range known {
		merge(answers, of.Answers)
	}
	used = given
	for key, answer := range answers {
		if answer == "" || given.Answer(key) != "" {
			continue
		}
		used = used.with(key, answer)
		setting, _, _ := strings.Cut(key, " ")
		for _, of := range known {
			if _, has := of.Answers[key]; has && of.at.After(at[setting]) {
				at[setting] = of.at
			}
		}
	}
	for _, setting := range slices.Sorted(maps.Keys(at)) {
		earlier = append(earlier, Earlier{Setting: setting, At: at[setting]})
	}
	return used, earlier
}

// forgetForeign forgets a remembered answer if it would also answer a question about a file with other columns, because
// a setting is about all files of the import. It returns true if there was no such answer.
func forgetForeign(
	set *Set, given Settings, known map[changeplan.Header]remembered, headers []changeplan.Header,
) (isOwn bool) {
	isOwn = true
	for _, q := range set.Answered {
		i := slices.IndexFunc(set.Files, func(f File) bool { return f.Name == q.File })
		if given.Answer(q.key()) != "" || i >= 0 && known[headers[i]].Answers[q.key()] != "" {
			continue
		}
		for _, of := range known {
			delete(of.Answers, q.key())
		}
		isOwn = false
	}
	return isOwn
}

// recallMapping adds the remembered fields of a file without a mapping, and reports whether there are any.
func (s *Settings) recallMapping(f File, fields []string) bool {
	if _, mapped := s.Mapping[f.Name]; mapped || len(fields) == 0 || len(fields) != len(f.Header) {
		return false
	}
	mapping := map[string]string{}
	for i, column := range f.Header {
		if mapping[column] == "" {
			mapping[column] = fields[i]
		}
	}
	if s.Mapping == nil {
		s.Mapping = map[string]map[string]string{}
	}
	s.Mapping[f.Name] = mapping
	return true
}

// toRemember returns the answers about files by their headers. Those that differ between two files are "". Those of
// imports by the command are not remembered.
func (d details) toRemember() map[changeplan.Header]remembered {
	all := map[changeplan.Header]remembered{}
	for _, f := range d.Files {
		if d.Remembered == nil || len(f.Header) == 0 {
			continue
		}
		of := remembered{Answers: map[string]string{}}
		for _, id := range f.Answered {
			of.Answers[id] = d.Settings.Answer(id)
		}
		for _, q := range d.Answered {
			if q.File == f.Name && q.ID == "statuses" {
				of.Answers[q.key()] = d.Settings.Answer(q.key())
			}
		}
		if mapping, mapped := d.Settings.Mapping[f.Name]; mapped {
			for _, column := range f.Header {
				of.Fields = append(of.Fields, mapping[column])
			}
		}
		header := headerOf(f, nil, d.Settings)
		if before, exists := all[header]; exists {
			merge(of.Answers, before.Answers)
			if !slices.Equal(of.Fields, before.Fields) {
				of.Fields = nil
			}
		}
		all[header] = of
	}
	return all
}

// remember stores the answers of a plan that is being applied. Answers to other questions about such files stay.
func (m *Importer) remember(ctx context.Context, tenant tenancy.ID, plan changeplan.Plan) error {
	return m.changeRemembered(ctx, tenant, plan, func(known, of remembered) remembered {
		for key, answer := range known.Answers {
			if _, exists := of.Answers[key]; !exists {
				of.Answers[key] = answer
			}
		}
		return of
	})
}

// forget deletes the answers of a plan that is being undone, because they may be the reason for the undo. Those that a
// later import has replaced stay.
func (m *Importer) forget(ctx context.Context, tenant tenancy.ID, plan changeplan.Plan) error {
	return m.changeRemembered(ctx, tenant, plan, func(known, of remembered) remembered {
		maps.DeleteFunc(known.Answers, func(key, answer string) bool { return of.Answers[key] == answer })
		if slices.Equal(known.Fields, of.Fields) {
			known.Fields = nil
		}
		return known
	})
}

// changeRemembered changes what is remembered for the files of a plan.
func (m *Importer) changeRemembered(
	ctx context.Context, tenant tenancy.ID, plan changeplan.Plan, change func(known, of remembered) remembered,
) error {
	d, err := readDetails(plan)
	answers := d.toRemember()
	if err != nil || len(answers) == 0 {
		return err
	}
	known, err := m.recall(ctx, tenant, slices.Collect(maps.Keys(answers)))
	if err != nil {
		return err
	}
	changed := map[changeplan.Header]json.RawMessage{}
	for header, of := range answers {
		after := change(known[header], of)
		maps.DeleteFunc(after.Answers, func(_, answer string) bool { return answer == "" })
		changed[header] = nil
		if len(after.Answers)+len(after.Fields) == 0 {
			continue
		}
		if changed[header], err = json.Marshal(after); err != nil {
			return err
		}
	}
	return changeplan.Remember(ctx, m.db, tenant, changed)
}
