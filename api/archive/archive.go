// Package archive writes everything that a tenant owns into a ZIP file, which an import reads: CSV files, the pictures
// of products, and a manifest with the number of rows and the checksum of each. IMPORTS.md in the folder above has the
// columns.
//
// All rows are of one moment: one read-only transaction reads them, page by page. The pictures are read after it has
// ended. An archive needs memory for a page of rows, and a few hundred bytes for each picture.
package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/flate"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const (
	// statementTimeout bounds one page of rows, with their compression.
	statementTimeout = time.Minute
	// chunk is how many bytes of a CSV file are compressed at a time.
	chunk = 64 << 10
	// pictureMemory is how much memory the entries of a picture take. Each countedMemory counts as memory of the
	// tenant.
	pictureMemory = 600
	countedMemory = 1 << 20
)

// Options are the sources of an archive. Progress is optional; it is called with the name of the file, or images, the
// number of rows or pictures so far, and their total if it is known.
type Options struct {
	DB       *db.DB
	Pictures *media.Store
	By       tenancy.Actor
	Progress func(what string, done, total int)
}

// Writer writes the archive of a tenant: WriteRows and then WritePictures.
type Writer struct {
	Options
	Manifest Manifest // complete after WritePictures

	tenant tenants.Tenant
	to     switchable
	zip    *zip.Writer
	files  []string // the pictures
}

// switchable writes to Writer, which is replaced after the rows.
type switchable struct{ io.Writer }

// New returns the writer of an archive.
func New(tenant tenants.Tenant, o Options) *Writer {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	w := &Writer{Options: o, tenant: tenant, Manifest: Manifest{
		Format: Format, Version: Version, CreatedAt: time.Now().UTC().Truncate(time.Second),
		Tenant:   Tenant{tenant.Slug, tenant.Name, tenant.Timezone, tenant.Currency},
		Pictures: []Picture{},
	}}
	w.zip = zip.NewWriter(&w.to)
	w.zip.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.DefaultCompression)
	})
	return w
}

// Name returns the name of the file.
func (w *Writer) Name() string {
	return fmt.Sprintf("storeroom-%s_%s.zip", w.tenant.Slug, w.Manifest.CreatedAt.Format(time.DateOnly))
}

// WriteRows writes the CSV files and an entry in the audit log. It holds a connection, so to must not wait for a
// client.
func (w *Writer) WriteRows(ctx context.Context, to io.Writer) error {
	w.to.Writer = to
	err := w.DB.Run(ctx, w.tenant.ID, func(b *pgx.Batch) {
		tenants.QueueAudit(b, w.tenant.ID, w.By, tenants.Entry{Action: "archive.export", Target: w.tenant.Slug})
	})
	if err == nil {
		err = w.DB.InSnapshot(ctx, w.tenant.ID, statementTimeout, w.writeFiles)
	}
	if err == nil {
		err = w.zip.Flush()
	}
	return tenancy.Wrap(err, "write the rows of an archive")
}

func (w *Writer) writeFiles(ctx context.Context, d *db.DB) error {
	products, orders := catalog.New(d), sales.New(d)
	for _, write := range []func() error{
		func() error { return w.references(ctx, products, catalog.Categories, export.CategoryFile.Archive) },
		func() error { return w.references(ctx, products, catalog.Sellers, export.SellerFile.Archive) },
		func() error { return w.references(ctx, products, catalog.Warehouses, export.WarehouseFile.Archive) },
		func() error { return file(ctx, w, products.EachProduct, export.ProductFile.Archive) },
		func() error { return file(ctx, w, products.EachStock, export.StockFile.Archive) },
		func() error { return w.images(ctx, products) },
		func() error { return file(ctx, w, products.EachAdjustment, export.LedgerFile.Archive) },
		func() error { return file(ctx, w, orders.EachChannel, export.ChannelFile.Archive) },
		func() error { return file(ctx, w, orders.EachCustomer, export.CustomerFile.Archive) },
		func() error { return file(ctx, w, orders.EachSoldProduct, export.SoldFile.Archive) },
		func() error { return file(ctx, w, orders.EachOrder, export.OrderFile.Archive) },
		func() error { return file(ctx, w, orders.EachItem, export.ItemFile.Archive) },
		func() error { return file(ctx, w, orders.EachRefund, export.RefundFile.Archive) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) references(
	ctx context.Context, products *catalog.Store, kind catalog.Kind,
	sheet func(export.Rows[catalog.Reference]) export.Sheet,
) error {
	return file(ctx, w, func(ctx context.Context, tenant tenancy.ID, f func(catalog.Reference) error) error {
		return products.EachReference(ctx, tenant, kind, f)
	}, sheet)
}

// images writes the images, and keeps the names of their pictures.
func (w *Writer) images(ctx context.Context, products *catalog.Store) error {
	ticket := limits.FromContext(ctx)
	each := func(ctx context.Context, tenant tenancy.ID, f func(export.ImageRow) error) error {
		return products.EachImages(ctx, tenant, func(p catalog.ProductImages) error {
			for _, image := range p.Images {
				if image.File != "" {
					w.files = append(w.files, image.File)
					if len(w.files)%(countedMemory/pictureMemory) == 0 {
						if err := ticket.Rows(countedMemory); err != nil {
							return err
						}
					}
				}
				if err := f(export.ImageRow{SKU: p.SKU, Image: image}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return file(ctx, w, each, export.ImageFile.Archive)
}

// file writes a CSV file with the rows that each calls its function with.
func file[T any](
	ctx context.Context, w *Writer, each func(context.Context, tenancy.ID, func(T) error) error,
	sheet func(export.Rows[T]) export.Sheet,
) error {
	var name string
	rows := 0
	content := sheet(func(write func(T) error) error {
		return each(ctx, w.tenant.ID, func(row T) error {
			if rows++; rows%500 == 0 {
				w.Progress(name, rows, 0)
			}
			return write(row)
		})
	})
	name = content.Name() + ".csv"
	entry, err := w.create(name, zip.Deflate)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(entry, chunk)
	err = export.CSV(buffer, content)
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.Manifest.Files = append(w.Manifest.Files, File{name, int64(rows), entry.bytes, entry.checksum()})
	return nil
}

// entry is an entry of the ZIP file that is being written.
type entry struct {
	to    io.Writer
	hash  hash.Hash
	bytes int64
}

func (w *Writer) create(name string, method uint16) (*entry, error) {
	to, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: w.Manifest.CreatedAt})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &entry{to: to, hash: sha256.New()}, nil
}

// Write implements io.Writer.
func (e *entry) Write(b []byte) (int, error) {
	_, _ = e.hash.Write(b) // never fails
	n, err := e.to.Write(b)
	e.bytes += int64(n)
	return n, err
}

func (e *entry) checksum() string { return hex.EncodeToString(e.hash.Sum(nil)) }

// WritePictures writes the pictures and the manifest, and ends the file. It uses no connection. A picture that was
// deleted since the rows were read is left out and counted.
func (w *Writer) WritePictures(ctx context.Context, to io.Writer) error {
	w.to.Writer = to
	for i, file := range w.files {
		w.Progress("images", i, len(w.files))
		if err := w.picture(ctx, file); err != nil {
			return fmt.Errorf("write the pictures of an archive: %w", err)
		}
	}
	manifest, err := w.zip.CreateHeader(&zip.FileHeader{
		Name: ManifestName, Method: zip.Deflate, Modified: w.Manifest.CreatedAt,
	})
	if err == nil {
		err = json.NewEncoder(manifest).Encode(w.Manifest)
	}
	if err == nil {
		err = w.zip.Close()
	}
	return tenancy.Wrap(err, "end an archive")
}

func (w *Writer) picture(ctx context.Context, file string) error {
	picture, err := w.Pictures.Read(ctx, file)
	if errors.Is(err, tenancy.ErrNotFound) {
		w.Manifest.Images.Missing++
		return nil
	}
	if err != nil {
		return err
	}
	defer picture.Close()
	name := imagesFolder + file
	entry, err := w.create(name, zip.Store) // pictures are compressed already
	if err == nil {
		_, err = io.Copy(entry, picture)
	}
	if err != nil {
		return err
	}
	if entry.bytes != picture.Size {
		return fmt.Errorf("%w: a picture has %d bytes instead of %d", media.ErrStorage, entry.bytes, picture.Size)
	}
	w.Manifest.Pictures = append(w.Manifest.Pictures, Picture{name, entry.bytes, entry.checksum()})
	w.Manifest.Images.Files++
	w.Manifest.Images.Bytes += entry.bytes
	return nil
}

// Write writes both parts of the archive.
func (w *Writer) Write(ctx context.Context, to io.Writer) error {
	if err := w.WriteRows(ctx, to); err != nil {
		return err
	}
	return w.WritePictures(ctx, to)
}
