package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/storeroom/storeroom/api/archive"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/tenancy"
)

func (c console) exportCommand() *cli.Command {
	cmd := c.operatorCommand("export", "write everything that a tenant owns into a ZIP file", exportTenant,
		describe("storeroom export --tenant acme acme.zip",
			"The archive has the catalog, stock, images, customers, orders and refunds of one moment, and a manifest with",
			"checksums; see the handbook. With - as FILE, it is written to standard output.",
			"Pictures are read from STOREROOM_MEDIA_URL. FILE is replaced when the archive is complete.",
			"Exit code: 0 if it is complete, 2 if the storage does not have some pictures, 1 if the export failed."),
		tenantFlag())
	cmd.ArgsUsage = "FILE"
	return cmd
}

// exported is the result of export.
type exported struct {
	Tenant string         `json:"tenant"`
	Files  []archive.File `json:"files"`
	Images archive.Images `json:"images"`
}

func exportTenant(ctx context.Context, o operation) error {
	path := o.cmd.Args().First()
	if path == "" || o.cmd.Args().Len() != 1 {
		return errors.New("expected one argument: FILE")
	}
	pictures := media.Open(string(o.cfg.MediaURL))
	defer pictures.Close()
	draw, erase := o.exporting()
	w := archive.New(o.tenant, archive.Options{DB: o.db, Pictures: pictures, By: tenancy.Operator, Progress: draw})
	var err error
	if path == "-" {
		err = w.Write(ctx, o.stdout)
		o.stdout = o.stderr // for the result
	} else {
		err = replaceFile(path, func(to io.Writer) error { return w.Write(ctx, to) })
	}
	erase()
	if err != nil {
		return err
	}
	m := w.Manifest
	err = o.print(exported{o.tenant.Slug, m.Files, m.Images}, func(to io.Writer) {
		fmt.Fprintln(to, "FILE\tROWS")
		for _, file := range m.Files {
			fmt.Fprintf(to, "%s\t%d\n", file.Name, file.Rows)
		}
		fmt.Fprintf(to, "images\t%d\n", m.Images.Files)
	})
	if n := m.Images.Missing; err == nil && n > 0 {
		return cli.Exit(counted(n, "picture is", "pictures are")+" not in STOREROOM_MEDIA_URL and not in the archive", 2)
	}
	return err
}

// replaceFile writes a file beside the path, and renames it when it is complete. Only the user may read it.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("FILE: %s exists and is not a regular file; for standard output, use -", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("FILE: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the first error is returned
		}
	}()
	buffer := bufio.NewWriterSize(file, 1<<20)
	if err = write(buffer); err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	return err
}

// exporting returns a function that shows the progress of an export, or nil if stderr is not a terminal, and a function
// that removes the progress.
func (c console) exporting() (draw func(what string, done, total int), erase func()) {
	screen, ok := c.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(screen.Fd())) {
		return nil, func() {}
	}
	var bar *progressbar.ProgressBar
	current := ""
	erase = func() {
		if bar != nil {
			_ = bar.Clear() // the export continues without a bar
		}
	}
	return func(what string, done, total int) {
		if total == 0 {
			total = -1 // not known
		}
		if what != current {
			erase()
			current = what
			bar = progressbar.NewOptions(total,
				progressbar.OptionSetWriter(screen),
				progressbar.OptionSetDescription(what),
				progressbar.OptionShowCount(),
				progressbar.OptionSetSpinnerChangeInterval(0))
		}
		_ = bar.Set(done)
	}, erase
}
