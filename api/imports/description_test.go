package imports

import (
	"io/fs"
	"path"
	"strings"
	"testing"
)

// descriptions returns all descriptions by their files.
func descriptions(t testing.TB) map[string]*description {
	t.Helper()
	names, err := fs.Glob(descriptionFiles, "formats/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	all := map[string]*description{}
	for _, name := range names {
		name = strings.TrimSuffix(path.Base(name), ".yaml")
		d, err := readDescription(name)
		if err != nil {
			t.Error(err)
			continue
		}
		all[name] = d
	}
	return all
}

func TestDescriptionsAreComplete(t *testing.T) {
	t.Parallel()
	for name, d := range descriptions(t) {
		if d.Name == "" || d.Title == "" || d.Source == "" || d.Kind != Product && d.Kind != Order || len(d.Columns) == 0 {
			t.Errorf("%s lacks its name, title, source, kind or columns", name)
		}
	}
}
