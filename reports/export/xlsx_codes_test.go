package export

import "testing"

func TestCodesOfSpreadsheetsAreEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a_b_x":          "a_b_x",
		"X_x0041_x0042_": "X_x005F_x0041_x005F_x0042_",
		"_x0041_":        "_x005F_x0041_",
		"a\x0b\x01c\t\n": "a_x000B__x0001_c\t\n",
		"\uffff界":        "_xFFFF_界",
	} {
		if got := escapeCodes(text); got != want {
			t.Errorf("escapeCodes(%q) = %q, want %q", text, got, want)
		}
	}
}
