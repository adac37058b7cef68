package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/storeroom/storeroom/cmd/storeroom/csvimport"
)

// maxPrintedRows is the number of refused rows to print. --errors writes all of them.
const maxPrintedRows = 20

func (c console) importCommand() *cli.Command {
	cmd := c.operatorCommand("import", "import a directory of CSV files: catalog and sales", importDirectory,
		describe("storeroom import --tenant acme ./shop",
			"Reads these files, plain or as .csv.gz; all are optional:",
			strings.Join(csvimport.Files, ", ")+".",
			"Products are matched by SKU and orders by number: importing the same files again changes nothing,",
			"and an import that was interrupted can be run again. An empty cell keeps the current value.",
			"The rows of order_items must have the same sequence as their orders.",
			"Exit code: 0 if all rows were loaded, 2 if some were refused, 1 if the import failed."),
		tenantFlag(), stringFlag("errors", "write all refused rows to this CSV file"))
	cmd.ArgsUsage = "DIR"
	return cmd
}

func importDirectory(ctx context.Context, o operation) error {
	dir := o.cmd.Args().First()
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("DIR: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("DIR: %s is not a directory", dir)
	}
	refused, err := newRefusedRows(o.cmd.String("errors"))
	if err != nil {
		return err
	}
	report, err := csvimport.Import(ctx, o.db, o.tenant.ID, os.DirFS(dir), csvimport.Options{
		Refused:  refused.add,
		Progress: o.progress(),
	})
	if err != nil {
		err = fmt.Errorf("import %s: %w", filepath.Clean(dir), err)
	}
	refused.print(o.stderr)
	err = errors.Join(err, refused.close(), o.printImport(report))
	if n := report.Refused(); err == nil && n > 0 {
		return cli.Exit(counted(int64(n), "row was refused", "rows were refused"), 2)
	}
	return err
}

type importJSON struct {
	Files      []csvimport.Count `json:"files"`
	PassedOver []string          `json:"passed_over"` // files with unknown names
	Refused    int               `json:"refused"`
	Exceeding  int               `json:"exceeding"` // orders that are refunded above what was paid
}

// printImport prints the number of loaded rows, also if the import failed.
func (o operation) printImport(report csvimport.Report) error {
	if len(report.PassedOver) > 0 {
		fmt.Fprintf(o.stderr, "skipped %s: only these files are imported: %s\n",
			strings.Join(report.PassedOver, ", "), strings.Join(csvimport.Files, ", "))
	}
	if n := int64(report.Exceeding); n > 0 {
		fmt.Fprintf(o.stderr, "%s refunded above what was paid\n", counted(n, "order is", "orders are"))
	}
	result := importJSON{
		Files:      append([]csvimport.Count{}, report.Files...),
		PassedOver: append([]string{}, report.PassedOver...),
		Refused:    report.Refused(),
		Exceeding:  report.Exceeding,
	}
	return o.print(result, func(w io.Writer) {
		fmt.Fprintln(w, "FILE\tCREATED\tUPDATED\tUNCHANGED\tREFUSED")
		for _, f := range result.Files {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\n", f.File, f.Created, f.Updated, f.Unchanged, f.Refused)
		}
	})
}

// refusedRows keeps the first refused rows for the terminal and writes all to a file, if there is one.
type refusedRows struct {
	first []csvimport.Refusal
	count int
	file  *os.File // may be nil
	csv   *csv.Writer
}

func newRefusedRows(path string) (*refusedRows, error) {
	if path == "" {
		return &refusedRows{csv: csv.NewWriter(io.Discard)}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("--errors: %w", err)
	}
	r := &refusedRows{file: file, csv: csv.NewWriter(file)}
	return r, r.csv.Write([]string{"file", "line", "key", "field", "reason"})
}

func (r *refusedRows) add(row csvimport.Refusal) {
	if r.count++; r.count <= maxPrintedRows {
		r.first = append(r.first, row)
	}
	_ = r.csv.Write([]string{row.File, strconv.Itoa(row.Line), row.Key, row.Field, row.Reason}) // close returns the error
}

func (r *refusedRows) print(w io.Writer) {
	for _, row := range r.first {
		key := ""
		if row.Key != "" {
			key = fmt.Sprintf(" %q", row.Key)
		}
		fmt.Fprintf(w, "%s line %d%s: %s\n", row.File, row.Line, key, strings.TrimSpace(row.Field+" "+row.Reason))
	}
	if more := r.count - len(r.first); more > 0 && r.file == nil {
		fmt.Fprintf(w, "and %d more; --errors FILE writes all of them\n", more)
	} else if more > 0 {
		fmt.Fprintf(w, "and %d more; all of them are in %s\n", more, r.file.Name())
	}
}

func (r *refusedRows) close() error {
	if r.file == nil {
		return nil
	}
	r.csv.Flush()
	if err := errors.Join(r.csv.Error(), r.file.Close()); err != nil {
		return fmt.Errorf("--errors: %w", err)
	}
	return nil
}

// progress returns a function that draws a bar for each file, or nil if stderr is not a terminal.
func (c console) progress() func(file string, read, size int64) {
	screen, ok := c.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(screen.Fd())) {
		return nil
	}
	var bar *progressbar.ProgressBar
	var current string
	return func(file string, read, size int64) {
		if file != current {
			current = file
			bar = progressbar.NewOptions64(size,
				progressbar.OptionSetWriter(screen),
				progressbar.OptionSetDescription(file),
				progressbar.OptionShowBytes(true),
				progressbar.OptionClearOnFinish())
		}
		_ = bar.Set64(read) // the import continues without a bar
	}
}
