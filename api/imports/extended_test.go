package imports

import (
	"testing"
	"testing/fstest"

	"github.com/storeroom/storeroom/catalog"
)

// An instance of the previous release knows only changeFile and the rows of storedRecords.
func TestThePreviousReleaseFailsToReadNewChanges(t *testing.T) {
	t.Parallel()
	const content = `[{"Filter":{"Stock":"low"},"IDs":[7],"Change":{"PriceAmount":"1.00"}}]`
	files := fstest.MapFS{extendedFile: {Data: []byte(content)}}
	failed := false
	for r, err := range storedRecords(files) {
		if failed = err != nil; !failed {
			t.Errorf("the previous release reads %+v", r)
		}
	}
	if !failed {
		t.Error("the previous release reads nothing, so it would plan no change")
	}
	of, exists, err := readChange(files)
	if err != nil || !exists || of.Filter.Stock != catalog.LowStock || len(of.IDs) != 1 || of.Change.PriceAmount != 100 {
		t.Errorf("readChange = %+v, %t, %v", of, exists, err)
	}
	if _, exists, err := readChange(fstest.MapFS{"rows-0001.json": {}}); exists || err != nil {
		t.Errorf("readChange of rows = %t, %v", exists, err)
	}
	for _, content := range []string{`[]`, `[{},{}]`, `{`} {
		if _, _, err := readChange(fstest.MapFS{extendedFile: {Data: []byte(content)}}); err == nil {
			t.Errorf("readChange(%s) has no error", content)
		}
	}
}
