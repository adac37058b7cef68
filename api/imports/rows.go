package imports

import (
	"archive/zip"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// RefusedFile returns the name of the file that WriteRefused writes.
func (i Import) RefusedFile() string {
	if len(i.readable()) > 1 {
		return fmt.Sprintf("refused-rows-%d.zip", i.ID)
	}
	return fmt.Sprintf("refused-rows-%d.csv", i.ID)
}

// FileKinds returns the kinds of rows of the files, whatever is stored. A file of orders can have refunds and
// cancellations too.
func (i Import) FileKinds() []Kind {
	var kinds []Kind
	all := slices.Concat(formats(), ownFiles, archiveFiles)
	for _, f := range i.readable() {
		if of := formatOf(all, f.Format); of != nil && !slices.Contains(kinds, of.kind) {
			kinds = append(kinds, of.kind)
		}
	}
	return kinds
}

// HasCustomers reports whether the files have data of customers.
func (i Import) HasCustomers() bool {
	return slices.ContainsFunc(i.FileKinds(), func(k Kind) bool { return k == Customer || isSale(k) })
}

// readable returns the files that were read.
func (i Import) readable() []File {
	return slices.DeleteFunc(slices.Clone(i.Files), func(f File) bool { return f.Problem != "" })
}

// WriteRefused writes the refused rows of an import as they were in its file, with a column for the reason, which an
// import ignores. The rows of several files become a ZIP with a file for each.
func (j *Jobs) WriteRefused(ctx context.Context, tenant tenancy.ID, i Import, w io.Writer) error {
	files := i.readable()
	switch len(files) {
	case 0:
		return nil
	case 1:
		return j.writeRefused(ctx, tenant, i.ID, files[0], w)
	}
	archive := zip.NewWriter(w)
	for _, file := range files {
		entry, err := archive.Create(strings.TrimSuffix(strings.TrimSuffix(file.Name, ".gz"), ".csv") + ".csv")
		if err == nil {
			err = j.writeRefused(ctx, tenant, i.ID, file, entry)
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

func (j *Jobs) writeRefused(ctx context.Context, tenant tenancy.ID, id int64, file File, w io.Writer) error {
	out := csv.NewWriter(w)
	header := slices.Clone(file.Header)
	if hasReasons(header) {
		header = header[:len(header)-1]
	}
	if err := out.Write(append(header, ReasonColumn)); err != nil {
		return err
	}
	parts, err := j.PartCounts(ctx, tenant, id)
	if err != nil {
		return err
	}
	written := keySet{}
	for _, of := range parts {
		if of.Refused == 0 {
			continue
		}
		part, err := j.Part(ctx, tenant, id, of.Part)
		if err != nil {
			return err
		}
		rows, err := changeplan.DecodeApplied(part, func(row *changeplan.Row) *changeplan.Row { return row })
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Action != changeplan.Refused {
				continue
			}
			reasons := reasonsOf(row)
			for n, of := range row.Rows {
				// A refund or a cancellation, also of a later part, can have the row of its order.
				// A keySet is fast if the highest bits of its keys differ.
				line := bits.Reverse64(uint64(of.Line))
				if of.File != file.Name || written.has(line) {
					continue
				}
				written.add(line)
				cells := guarded(file, of.Cells, len(header))
				if err := out.Write(append(cells, strings.Join(reasons[n], "; "))); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// guarded returns at least the number of cells of a row that its file of refused rows has before the reason.
func guarded(file File, row []string, columns int) []string {
	cells := slices.Clone(row)
	if len(cells) == len(file.Header) {
		cells = cells[:columns] // without an earlier reason
	}
	isOwn := formatOf(ownFiles, file.Format) != nil && (file.Sheet == "" || hasReasons(file.Header))
	for i, cell := range cells {
		if isOwn { // other systems do not guard cells
			cell = export.Unguard(cell)
		}
		cells[i] = export.Guard(cell)
	}
	for len(cells) < columns {
		cells = append(cells, "")
	}
	return cells
}

// ReasonColumn is the last column in a file of refused rows. It has the reasons.
const ReasonColumn = "reason"

// hasReasons reports whether a file has refused rows of an earlier import. Its cells are guarded.
func hasReasons(header []string) bool {
	return len(header) > 0 && header[len(header)-1] == ReasonColumn
}

// reasonsOf returns the errors of each of the rows of files of a record.
func reasonsOf(record changeplan.Row) [][]string {
	if len(record.Rows) == 0 {
		return nil
	}
	reasons := make([][]string, len(record.Rows))
	for _, e := range errorsOf(record) {
		for _, message := range e.messages {
			reasons[e.row] = append(reasons[e.row], strings.TrimSpace(e.field+" "+message))
		}
	}
	return reasons
}

// fieldErrors are the errors of a field of a record, or of one of its items. Errors of an item belong to its row.
type fieldErrors struct {
	item     int // -1 if the field is not one of an item
	row      int // the index in Rows
	field    string
	messages []string
}

// errorsOf returns the errors of a record, sorted by their paths.
func errorsOf(record changeplan.Row) (all []fieldErrors) {
	for _, path := range slices.Sorted(maps.Keys(record.Invalid)) {
		e := fieldErrors{-1, 0, path, record.Invalid[path]}
		i, field, isItem := splitPath(path)
		if isItem && i < len(record.ItemRows) && record.ItemRows[i] < len(record.Rows) {
			e.item, e.row, e.field = i, record.ItemRows[i], field
		}
		all = append(all, e)
	}
	return all
}

// splitPath splits a path such as items[3].unit_price into 3 and unit_price.
func splitPath(path string) (i int, field string, ok bool) {
	element, field, _ := strings.Cut(path, "].")
	_, index, _ := strings.Cut(element, "[")
	i, err := strconv.Atoi(index)
	if err != nil || field == "" {
		return 0, path, false
	}
	return i, field, true
}
