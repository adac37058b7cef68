package db

import (
	"os"
	"strings"
	"testing"
)

// PgBouncer rejects a connection with a parameter that it neither tracks nor ignores.
func TestTheHandbookListsTheParametersForPgBouncer(t *testing.T) {
	t.Parallel()
	handbook, err := os.ReadFile("../../deploy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(handbook), "ignore_startup_parameters = ")
	list, _, _ = strings.Cut(list, "\n")
	ignored := map[string]bool{}
	for _, name := range strings.Split(list, ",") {
		ignored[name] = true
	}
	for name, value := range runtimeParams {
		if name == "application_name" || name == "timezone" {
			continue // PgBouncer tracks these
		}
		if !ignored[name] {
			t.Errorf("ignore_startup_parameters lacks %s", name)
		}
		delete(ignored, name)
		role := "alter role storeroom_runtime set " + name + " = "
		if name != "search_path" && !strings.Contains(string(handbook), role+value+";") &&
			!strings.Contains(string(handbook), role+"'"+value+"';") {
			t.Errorf("the handbook does not set %s to %s", name, value)
		}
	}
	for name := range ignored {
		t.Errorf("ignore_startup_parameters has %s, which no connection sets", name)
	}
}
