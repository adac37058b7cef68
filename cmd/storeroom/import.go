package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// maxPrintedRows is the number of refused rows to print. --errors writes all of them.
const maxPrintedRows = 20

func (c console) importCommand() *cli.Command {
	cmd := c.operatorCommand("import", "import catalog and sales from files", importFiles,
		describe("storeroom import --tenant acme ./shop",
			"Reads CSV and XLSX files, also as .gz or in a ZIP, of Storeroom and of other systems; see the handbook.",
			"Products are matched by SKU and orders by number: importing the same files again changes nothing.",
			"An empty cell keeps the current value.",
			"All rows are checked before the first one is written. If an import is interrupted, --resume continues it,",
			"and `storeroom import undo` undoes it.",
			"Exit code: 0 if all rows were imported, 2 if some were refused, 1 if the import failed."),
		// The library would also require a required flag before the name of the subcommand.
		stringFlag("tenant", "slug of the tenant (required)"),
		&cli.StringFlag{Name: "errors", Usage: "write all refused rows to this CSV file", Local: true},
		&cli.BoolFlag{Name: "dry-run", Usage: "check the files and count the rows; import nothing", Local: true},
		&cli.StringSliceFlag{
			Name: "set", Usage: "how to read files: date_order=dmy, decimal=, or another setting", Local: true,
		},
		&cli.Int64Flag{
			Name: "resume", Usage: "continue the import with this number", HideDefault: true, Local: true,
			Config: decimal,
		})
	cmd.ArgsUsage = "PATH..."
	undo := c.operatorCommand("undo", "undo an import of the last seven days", undoImport,
		describe("storeroom import undo --tenant acme 12",
			"Products return to their previous state, and imported orders are removed from the reports.",
			"Rows that something else has changed since are kept and listed; the exit code is then 2."),
		tenantFlag())
	undo.ArgsUsage = "NUMBER"
	cmd.Commands = []*cli.Command{undo}
	return cmd
}

func importFiles(ctx context.Context, o operation) error {
	paths, resume := o.cmd.Args().Slice(), o.cmd.Int64("resume")
	if !o.cmd.IsSet("tenant") {
		return errors.New("--tenant is required")
	}
	if len(paths) == 0 == (resume == 0) {
		return errors.New("expected PATH... or --resume NUMBER")
	}
	for _, flag := range []string{"dry-run", "set"} {
		if resume != 0 && o.cmd.IsSet(flag) {
			return fmt.Errorf("--%s cannot be used with --resume", flag)
		}
	}
	settings, err := importSettings(o.cmd.StringSlice("set"))
	if err != nil {
		return err
	}
	refused, err := newRefusedRows(o.cmd.String("errors"))
	if err != nil {
		return err
	}
	runner := o.importRunner(imports.Options{
		Settings: settings, DryRun: o.cmd.Bool("dry-run"), Refused: refused.add,
	})
	var report imports.Report
	if resume != 0 {
		report, err = runner.Resume(ctx, resume)
		err = importError(err, resume)
	} else {
		report, err = importPaths(ctx, runner, paths)
	}
	refused.print(o.stderr)
	err = errors.Join(err, refused.close(), o.printImport(report))
	if n := report.Refused(); err == nil && n > 0 {
		return cli.Exit(counted(int64(n), "row was refused", "rows were refused"), 2)
	}
	return err
}

func (o operation) importRunner(options imports.Options) *imports.Runner {
	options.By = tenancy.Operator
	options.Reading, options.Applying = o.progress(), o.applying()
	options.Waits = func() { fmt.Fprintln(o.stderr, "waiting for another import of the tenant") }
	options.Pictures = imports.Pictures{
		Store: media.Open(string(o.cfg.MediaURL)), Memory: config.ImageMemory(), Quota: int64(o.cfg.MediaQuota),
	}
	return imports.NewRunner(o.db, o.tenant, options)
}

func importPaths(ctx context.Context, runner *imports.Runner, paths []string) (imports.Report, error) {
	dir, err := openPaths(paths)
	if err != nil {
		return imports.Report{}, err
	}
	report, err := runner.Import(ctx, dir)
	if questions, ok := errors.AsType[imports.QuestionsError](err); ok {
		err = errors.New(describeQuestions(questions.Questions))
	}
	if err != nil {
		err = fmt.Errorf("import %s: %w", filepath.Clean(paths[0]), err)
	}
	if err != nil && report.Plan != 0 {
		err = fmt.Errorf("%w; continue with --resume %d", err, report.Plan)
	}
	return report, err
}

// importSettings reads --set. A value may be JSON.
func importSettings(pairs []string) (imports.Settings, error) {
	answers := imports.Answers{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if !imports.IsSetting(name) {
			return imports.Settings{}, fmt.Errorf("--set: unknown setting %q", name)
		}
		if answers[name] = json.RawMessage(value); strings.HasPrefix(value, "{") || value == "true" || value == "false" {
			continue
		}
		text, err := json.Marshal(value)
		if answers[name] = text; err != nil {
			return imports.Settings{}, fmt.Errorf("--set: %w", err)
		}
	}
	settings, err := imports.Settings{}.With(answers)
	if err != nil { // not wrapped: the names in an InvalidError are no flags
		return settings, errors.New("--set: " + err.Error())
	}
	return settings, nil
}

// describeQuestions asks for the settings that are needed to read the files.
func describeQuestions(questions []imports.Question) string {
	var lines []string
	for _, q := range questions {
		line := fmt.Sprintf("%s: --set %s is required", q.File, q.ID)
		if len(q.Choices) > 0 {
			line += ", one of " + strings.Join(q.Choices, ", ")
		}
		if q.Column != "" {
			line += fmt.Sprintf(", for the column %q", q.Column)
		}
		if len(q.Examples) > 0 {
			line += " with values such as " + strings.Join(q.Examples, " · ")
		}
		if q.Reason != "" {
			line += ": " + q.Reason
		}
		lines = append(lines, line)
		for _, choice := range q.Choices {
			if readings := q.Readings[choice]; len(readings) > 0 {
				lines = append(lines, fmt.Sprintf("  %s: %s", choice, strings.Join(readings, " · ")))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// importError explains errors about the number of an import.
func importError(err error, id int64) error {
	switch {
	case errors.Is(err, tenancy.ErrNotFound):
		return fmt.Errorf("there is no import %d, or it has expired", id)
	case errors.Is(err, changeplan.ErrState):
		return fmt.Errorf("the state of the import %d does not allow this", id)
	}
	return err
}

func undoImport(ctx context.Context, o operation) error {
	for _, flag := range []string{"errors", "dry-run", "set", "resume"} {
		if o.cmd.IsSet(flag) {
			return fmt.Errorf("--%s cannot be used with import undo", flag)
		}
	}
	id, err := strconv.ParseInt(o.cmd.Args().First(), 10, 64)
	if err != nil || o.cmd.Args().Len() != 1 {
		return errors.New("expected one argument: the number of the import")
	}
	report, err := o.importRunner(imports.Options{}).Undo(ctx, id)
	if err != nil {
		return importError(err, id)
	}
	result := struct {
		ID   int64          `json:"id"`
		Kept []tenancy.Kept `json:"kept"`
	}{id, append([]tenancy.Kept{}, report.Kept...)}
	err = o.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "undid the import %d\n", id)
		for _, kept := range result.Kept {
			fmt.Fprintf(w, "kept %q: %s\n", kept.Key, kept.Reason)
		}
	})
	if err == nil && len(result.Kept) > 0 {
		return cli.Exit(counted(int64(len(result.Kept)), "row was kept", "rows were kept"), 2)
	}
	return err
}

// openPaths returns a directory, or the named files as one.
func openPaths(paths []string) (fs.FS, error) {
	files := pathFiles{}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch name := filepath.Base(path); {
		case err != nil:
			return nil, fmt.Errorf("PATH: %w", err)
		case info.IsDir() && len(paths) == 1:
			return os.DirFS(path), nil
		case info.IsDir():
			return nil, fmt.Errorf("PATH: %s is a directory: expected one directory, or files", path)
		case files[name] != "":
			return nil, fmt.Errorf("PATH: both %s and %s have the name %s", files[name], path, name)
		default:
			files[name] = path
		}
	}
	return files, nil
}

// pathFiles is a directory of files by name.
type pathFiles map[string]string

// Open opens a file.
func (p pathFiles) Open(name string) (fs.File, error) {
	path, exists := p[name]
	if !exists {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return os.Open(path)
}

// ReadDir returns the files, sorted by name.
func (p pathFiles) ReadDir(string) (entries []fs.DirEntry, err error) {
	for _, path := range p {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

type importJSON struct {
	ID         int64           `json:"id"` // 0 for a dry run
	Files      []imports.Count `json:"files"`
	PassedOver []string        `json:"passed_over"` // files that are not imported
	Refused    int             `json:"refused"`
	Exceeding  int             `json:"exceeding"` // orders that are refunded above what was paid
	// Notes are remarks about rows that were imported, with the number of the rows.
	Notes []imports.NoteCount `json:"notes"`
}

// printImport prints the number of imported rows, even if the import failed.
func (o operation) printImport(report imports.Report) error {
	if len(report.PassedOver) > 0 {
		fmt.Fprintf(o.stderr, "skipped %s: only files of known columns are imported\n",
			strings.Join(report.PassedOver, ", "))
	}
	if n := int64(report.Exceeding); n > 0 {
		fmt.Fprintf(o.stderr, "%s refunded above what was paid\n", counted(n, "order is", "orders are"))
	}
	for _, note := range report.Notes {
		text := counted(note.Count, "row", "rows")
		if note.Amount != 0 {
			text += fmt.Sprintf(", %s %s", note.Amount, o.tenant.Currency)
		}
		fmt.Fprintf(o.stderr, "note: %s (%s)\n", note.Text, text)
	}
	result := importJSON{
		ID:         report.Plan,
		Files:      append([]imports.Count{}, report.Files...),
		PassedOver: append([]string{}, report.PassedOver...),
		Refused:    report.Refused(),
		Exceeding:  report.Exceeding,
		Notes:      append([]imports.NoteCount{}, report.Notes...),
	}
	return o.print(result, func(w io.Writer) {
		if len(result.Files) == 0 { // the import failed before it began
			return
		}
		fmt.Fprintln(w, "FILE\tCREATED\tUPDATED\tUNCHANGED\tREFUSED\tIGNORED")
		for _, f := range result.Files {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", f.File, f.Created, f.Updated, f.Unchanged, f.Refused, f.Ignored)
		}
		if result.ID != 0 {
			fmt.Fprintf(w, "\nto undo this import: storeroom import undo --tenant %s %d\n", o.tenant.Slug, result.ID)
		}
	})
}

// refusedRows keeps the first refused rows for the terminal and writes all to a file, if there is one.
type refusedRows struct {
	first []imports.Refusal
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

func (r *refusedRows) add(row imports.Refusal) {
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
func (c console) progress() func(file string, done, rows int) {
	screen, ok := c.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(screen.Fd())) {
		return nil
	}
	var bar *progressbar.ProgressBar
	var current string
	return func(file string, done, rows int) {
		if file != current {
			current = file
			bar = progressbar.NewOptions(rows,
				progressbar.OptionSetWriter(screen),
				progressbar.OptionSetDescription(file),
				progressbar.OptionShowCount(),
				progressbar.OptionClearOnFinish())
		}
		_ = bar.Set(done) // the import continues without a bar
	}
}

// applying returns a function that draws a bar for the parts that are applied, or nil if stderr is not a terminal.
func (c console) applying() func(done, parts int) {
	draw := c.progress()
	if draw == nil {
		return nil
	}
	return func(done, parts int) { draw("applying", done, parts) }
}
