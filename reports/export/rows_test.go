package export

import (
	"errors"
	"io"
	"testing"
)

func TestASheetHasAtMostMaxRows(t *testing.T) {
	t.Parallel()
	one := []column[int64]{{"n", 10, idOf}}
	for _, n := range []int64{MaxRows, MaxRows + 1} {
		err := WriteWorkbook(t.Context(), io.Discard, newSheet("Rows", one, func(write func(int64) error) error {
			for i := range n {
				if err := write(i); err != nil {
					return err
				}
			}
			return nil
		}))
		if n == MaxRows && err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		if n > MaxRows {
			if !errors.Is(err, ErrTooManyRows) {
				t.Errorf("%d rows: %v", n, err)
			}
		}
	}
}
