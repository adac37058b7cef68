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

// shownRefusals is how many refused rows the terminal shows; --errors has all.
const shownRefusals = 20

func (c console) importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "load a folder of CSV files into a tenant: catalog and sales",
		ArgsUsage: "DIR",
		Description: "Reads, plain or as .csv.gz, what there is of " + strings.Join(csvimport.Files, ", ") + ".\n" +
			"Products are found by their SKU, orders by their number; a second run changes nothing, and one that was interrupted\n" +
			"is begun again. An empty cell leaves a value as it is. order_items must follow in the sequence of their orders.\n" +
			"Exit code 0: all rows loaded; 2: some were refused, the others loaded; 1: failed.",
		Flags: []cli.Flag{
			stringFlag("tenant", "slug of the tenant"),
			stringFlag("errors", "write every refused row to this CSV file"),
			jsonFlag(),
		},
		Action: c.importFolder,
	}
}

func (c console) importFolder(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant"); err != nil {
		return err
	}
	if cmd.NArg() != 1 {
		return fmt.Errorf("want one folder, DIR, after the flags, not %d", cmd.NArg())
	}
	dir := cmd.Args().First()
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("DIR: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("DIR: %s is not a folder", dir)
	}
	db, _, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	tenant, err := findTenant(ctx, db, "tenant", cmd.String("tenant"))
	if err != nil {
		return err
	}
	refusals, err := openRefusals(cmd.String("errors"))
	if err != nil {
		return err
	}
	report, err := csvimport.Import(ctx, db, tenant.ID, os.DirFS(dir), csvimport.Options{
		Refused:  refusals.add,
		Progress: c.progress(),
	})
	if err != nil {
		err = fmt.Errorf("import %s: %w", filepath.Clean(dir), err)
	}
	c.tellRefusals(refusals)
	return errors.Join(err, refusals.close(), c.tellImport(cmd, report, err == nil))
}

// tellImport prints what was loaded, also after a failure, and returns errRefused
// where something was not.
func (c console) tellImport(cmd *cli.Command, report csvimport.Report, whole bool) error {
	if len(report.PassedOver) > 0 {
		fmt.Fprintf(c.stderr, "passed over %s: only %s are imported\n", strings.Join(report.PassedOver, ", "), strings.Join(csvimport.Files, ", "))
	}
	switch n := report.Exceeding; n {
	case 0:
	case 1:
		fmt.Fprintln(c.stderr, "1 order is refunded above what was paid")
	default:
		fmt.Fprintf(c.stderr, "%d orders are refunded above what was paid\n", n)
	}
	err := c.print(cmd, newImportJSON(report), func(w io.Writer) {
		fmt.Fprintln(w, "FILE\tCREATED\tUPDATED\tUNCHANGED\tREFUSED")
		for _, f := range report.Files {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\n", f.File, f.Created, f.Updated, f.Unchanged, f.Refused)
		}
	})
	if n := report.Refused(); err == nil && whole && n > 0 {
		return errRefused(n)
	}
	return err
}

type importJSON struct {
	Files      []importFileJSON `json:"files"`
	PassedOver []string         `json:"passed_over"`
	Refused    int              `json:"refused"`
	Exceeding  int              `json:"exceeding"` // orders that are refunded above what was paid
}

type importFileJSON struct {
	File      string `json:"file"`
	Created   int    `json:"created"`
	Updated   int    `json:"updated"`
	Unchanged int    `json:"unchanged"`
	Refused   int    `json:"refused"`
}

func newImportJSON(r csvimport.Report) importJSON {
	answer := importJSON{Files: []importFileJSON{}, PassedOver: append([]string{}, r.PassedOver...), Refused: r.Refused(), Exceeding: r.Exceeding}
	for _, f := range r.Files {
		answer.Files = append(answer.Files, importFileJSON(f))
	}
	return answer
}

// refusals keeps the first refused rows for the terminal and writes all to a file.
type refusals struct {
	first []csvimport.Refusal
	count int
	file  *os.File
	csv   *csv.Writer
}

func openRefusals(path string) (*refusals, error) {
	r := &refusals{csv: csv.NewWriter(io.Discard)}
	if path == "" {
		return r, nil
	}
	var err error
	if r.file, err = os.Create(path); err != nil {
		return nil, fmt.Errorf("--errors: %w", err)
	}
	r.csv = csv.NewWriter(r.file)
	return r, r.csv.Write([]string{"file", "line", "key", "field", "reason"})
}

func (r *refusals) add(x csvimport.Refusal) {
	if r.count++; r.count <= shownRefusals {
		r.first = append(r.first, x)
	}
	// The writer keeps an error for close.
	_ = r.csv.Write([]string{x.File, strconv.Itoa(x.Line), x.Key, x.Field, x.Reason})
}

func (r *refusals) close() error {
	if r.file == nil {
		return nil
	}
	r.csv.Flush()
	if err := errors.Join(r.csv.Error(), r.file.Close()); err != nil {
		return fmt.Errorf("--errors: %w", err)
	}
	return nil
}

func (c console) tellRefusals(r *refusals) {
	for _, x := range r.first {
		key := ""
		if x.Key != "" {
			key = fmt.Sprintf(" %q", x.Key)
		}
		fmt.Fprintf(c.stderr, "%s line %d%s: %s\n", x.File, x.Line, key, strings.TrimSpace(x.Field+" "+x.Reason))
	}
	if more := r.count - len(r.first); more > 0 && r.file == nil {
		fmt.Fprintf(c.stderr, "and %d more; --errors FILE writes all of them\n", more)
	} else if more > 0 {
		fmt.Fprintf(c.stderr, "and %d more; all of them are in %s\n", more, r.file.Name())
	}
}

// progress draws a bar for each file if somebody looks on.
func (c console) progress() func(file string, read, size int64) {
	screen, ok := c.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(screen.Fd())) {
		return nil
	}
	var bar *progressbar.ProgressBar
	var of string
	return func(file string, read, size int64) {
		if file != of {
			of = file
			bar = progressbar.NewOptions64(size,
				progressbar.OptionSetWriter(screen), progressbar.OptionSetDescription(file),
				progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish())
		}
		_ = bar.Set64(read) // a bar that cannot be drawn stops nothing
	}
}
