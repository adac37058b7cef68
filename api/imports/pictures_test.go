package imports_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

func TestMain(m *testing.M) {
	if media.IsChild() {
		os.Exit(media.RunChild())
	}
	os.Exit(m.Run())
}

// mustPicture adds an image and its file. The name of the file is 26 times the letter.
func (s shop) mustPicture(t *testing.T, dir string, product int64, letter string, content []byte) {
	t.Helper()
	file := strings.Repeat(letter, 26) + ".jpg"
	path := filepath.Join(dir, file[:2], file)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644))
	s.MustOldPicture(t, s.tenant, file)
	if err == nil {
		_, err = s.store.AddImage(t.Context(), catalog.Actor{Tenant: s.tenant}, product, catalog.Image{
			File: file, Width: 30, Height: 20, Bytes: int64(len(content)),
		}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// countFiles returns the number of files in a folder.
func countFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// folderSize returns the size of all files in a folder.
func folderSize(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func (s shop) importPictures(t *testing.T, file []byte, p imports.Pictures, dry bool) imports.Report {
	t.Helper()
	report, err := imports.NewRunner(s.DB, s.of, imports.Options{By: tenancy.Operator, Pictures: p, DryRun: dry}).
		Import(t.Context(), archiveDir(file))
	if err != nil || report.Refused() > 0 || len(report.Kept) > 0 {
		t.Fatalf("the import returned %+v, %v", report, err)
	}
	return report
}

func TestPicturesOfAnArchiveAreStoredAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p, err := s.store.Create(t.Context(), catalog.Actor{Tenant: s.tenant}, catalog.Changes{
		SKU: catalog.Value("TEA"), Name: catalog.Value("Tea"), Price: catalog.Value(money.Cents(100)),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20)), nil); err != nil {
		t.Fatal(err)
	}
	from, to := t.TempDir(), t.TempDir()
	s.mustPicture(t, from, p.ID, "A", picture.Bytes())
	s.mustPicture(t, from, p.ID, "B", []byte("not a picture"))
	s.mustPicture(t, from, p.ID, "C", append(bytes.Clone(picture.Bytes()), make([]byte, media.MaxFile)...))
	if _, err := s.store.AddImage(t.Context(), catalog.Actor{Tenant: s.tenant}, p.ID,
		catalog.Image{URL: "https://example.com/a.jpg"}, nil); err != nil {
		t.Fatal(err)
	}
	file := s.mustArchive(t, from)
	with := func(quota int64) imports.Pictures {
		return imports.Pictures{Store: media.Open("file://" + to), Memory: media.MaxMemory, Quota: quota}
	}
	other := s.other(t, "other")
	other.importPictures(t, file, with(1<<30), true)
	if n := countFiles(t, to); n > 0 {
		t.Errorf("a dry run stored %d files", n)
	}
	other.importPictures(t, file, with(1<<30), false)
	if got, want := fmt.Sprint(other.planNotes(t)), "an image was not imported: it must have at most 28311552 bytes"; !strings.Contains(
		got, want) {
		t.Errorf("the plan has the notes %s, want %q", got, want)
	}
	images := other.mustProduct(t, "TEA").Images
	if len(images) != 2 || images[0].Width != 30 || images[0].Height != 20 || strings.HasPrefix(images[0].File, "AAAA") ||
		images[1].URL != "https://example.com/a.jpg" || images[1].Position != 2 {
		t.Fatalf("the product has the images %+v, want the picture and the URL", images)
	}
	if bytes, err := other.store.MediaBytes(t.Context(), other.tenant); err != nil || bytes != images[0].Bytes {
		t.Errorf("the tenant has %d bytes, %v, want %d", bytes, err, images[0].Bytes)
	}
	if n := countFiles(t, to); n != 1 {
		t.Errorf("there are %d files, want 1", n)
	}
	if second := other.importPictures(t, file, with(1<<30), false); second.Files[3].Unchanged != 1 || countFiles(t, to) != 1 {
		t.Errorf("the second import = %+v with %d files, want the product unchanged", second, countFiles(t, to))
	}
	other.mustUndo(t)
	if n, err := media.Open("file://"+to).DeleteUnused(t.Context(), other.DB); err != nil || n != 1 || countFiles(t, to) != 0 {
		t.Errorf("%d files were deleted after the undo, %v, %d are left", n, err, countFiles(t, to))
	}
	full := s.other(t, "full")
	full.importPictures(t, file, with(0), false)
	if images := full.mustProduct(t, "TEA").Images; len(images) != 1 || images[0].File != "" || countFiles(t, to) != 0 {
		t.Errorf("without storage the product has %+v", images)
	}
	if got := fmt.Sprint(full.planNotes(t)); !strings.Contains(got, "an image was not imported: it would exceed the storage") {
		t.Errorf("the plan has the notes %s", got)
	}
}

// A PNG picture can be larger than the upload that it was made of.
func TestAnArchiveRestoresAPictureThatIsLargerThanAnUpload(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.NoCompression}
	if err := encoder.Encode(&picture, image.NewNRGBA(image.Rect(0, 0, 1700, 1700))); err != nil {
		t.Fatal(err)
	}
	if picture.Len() <= media.MaxUpload {
		t.Fatalf("the picture has %d bytes", picture.Len())
	}
	s := newShop(t)
	p, err := s.store.Create(t.Context(), catalog.Actor{Tenant: s.tenant}, catalog.Changes{
		SKU: catalog.Value("TEA"), Name: catalog.Value("Tea"), Price: catalog.Value(money.Cents(100)),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	from, to := t.TempDir(), t.TempDir()
	s.mustPicture(t, from, p.ID, "A", picture.Bytes())
	file, other := s.mustArchive(t, from), s.other(t, "other")
	other.importPictures(t, file, imports.Pictures{
		Store: media.Open("file://" + to), Memory: media.MaxMemory, Quota: 1 << 30,
	}, false)
	if images := other.mustProduct(t, "TEA").Images; len(images) != 1 || images[0].Width != 1700 {
		t.Errorf("the product has the images %+v, want the picture; notes %s", images, other.planNotes(t))
	}
}

// planNotes returns the notes of the rows of the first plan.
func (s shop) planNotes(t *testing.T) (notes []string) {
	t.Helper()
	jobs := imports.NewJobs(changeplan.New(s.DB, map[string]changeplan.Kind{
		imports.PlanKind: imports.NewImporter(s.DB, imports.Pictures{}),
	}))
	plan, err := db.One[struct{ ID int64 }](t.Context(), s.DB, s.tenant,
		`select min(id) as id from change_plans where tenant_id = $1`, s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	products := changeplan.RowFilter{Kind: imports.Product, Page: paging.Page{Number: 1, PerPage: 10}}
	rows, err := jobs.Rows(t.Context(), s.tenant, plan.ID, products)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows.Items {
		notes = append(notes, row.NoteTexts()...)
	}
	return notes
}

// Pictures that take longer than a turn are decoded in several turns, each of them once.
func TestPicturesLetOthersGoFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	from, to := t.TempDir(), t.TempDir()
	for n, letters := range []string{"AB", "CD"} {
		p, err := s.store.Create(t.Context(), catalog.Actor{Tenant: s.tenant}, catalog.Changes{
			SKU: catalog.Value(fmt.Sprint("TEA", n)), Name: catalog.Value("Tea"), Price: catalog.Value(money.Cents(100)),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, letter := range letters {
			var picture bytes.Buffer
			if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 30+i, 20)), nil); err != nil {
				t.Fatal(err)
			}
			if letter == 'D' {
				picture.Truncate(20)
			}
			s.mustPicture(t, from, p.ID, string(letter), picture.Bytes())
		}
	}
	kinds := imports.Kinds(s.DB, imports.Pictures{
		Store: media.Open("file://" + to), Memory: media.MaxMemory, Quota: 1 << 30, Turn: 1,
	})
	worker, other := changeplan.New(s.DB, kinds), s.other(t, "other")
	j := jobs{s.Database, imports.NewJobs(worker), other.of, worker}
	id, err := j.Create(t.Context(), other.of, tenancy.Operator, form(t, imports.Settings{}, "a.zip", string(s.mustArchive(t, from))))
	turns := 0
	for err = errors.Join(err, changeplan.ErrPaused); errors.Is(err, changeplan.ErrPaused) && turns < 10; turns++ {
		if err = worker.Claim(t.Context(), other.tenant, id, nil); err == nil {
			err = worker.Work(t.Context(), other.tenant, id, nil)
		}
	}
	if i := j.mustGet(t, id); err != nil || i.State != changeplan.Planned || turns != 4 {
		t.Fatalf("the import is %s after %d turns, %v; want planned after 4, one for each picture", i.State, turns, err)
	}
	if got := fmt.Sprint(other.planNotes(t)); strings.Count(got, "an image was not imported") != 1 {
		t.Errorf("the plan has the notes %s, want one about the broken picture", got)
	}
	if reserved, err := media.ReservedBytes(t.Context(), s.DB, other.tenant); err != nil || reserved != folderSize(t, to) {
		t.Errorf("%d bytes are reserved for the plan, %v, want %d", reserved, err, folderSize(t, to))
	}
	j.mustRun(t, id, j.Apply(t.Context(), other.tenant, tenancy.Operator, id, false))
	images := append(other.mustProduct(t, "TEA0").Images, other.mustProduct(t, "TEA1").Images...)
	reserved, err := media.ReservedBytes(t.Context(), s.DB, other.tenant)
	if len(images) != 3 || images[0].Width != 30 || images[1].Width != 31 || countFiles(t, to) != 3 || err != nil || reserved != 0 {
		t.Errorf("the products have %+v in %d files, and %d bytes are reserved, %v", images, countFiles(t, to), reserved, err)
	}
}

// A tenant cannot fill the storage with plans that it does not apply.
func TestPicturesOfPlansCountAndAreReleased(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p, err := s.store.Create(t.Context(), catalog.Actor{Tenant: s.tenant}, catalog.Changes{
		SKU: catalog.Value("TEA"), Name: catalog.Value("Tea"), Price: catalog.Value(money.Cents(100)),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20)), nil); err != nil {
		t.Fatal(err)
	}
	from, to := t.TempDir(), t.TempDir()
	s.mustPicture(t, from, p.ID, "A", picture.Bytes())
	file := string(s.mustArchive(t, from))
	worker := changeplan.New(s.DB, map[string]changeplan.Kind{imports.PlanKind: imports.NewImporter(s.DB, imports.Pictures{
		Store: media.Open("file://" + to), Memory: media.MaxMemory, Quota: 1,
	})})
	j := jobs{s.Database, imports.NewJobs(worker), s.MustTenant(t, "other"), worker}
	var size int64 // of the stored picture
	want := func(when string, files int, reserved int64) {
		t.Helper()
		bytes, err := media.ReservedBytes(t.Context(), s.DB, j.tenant.ID)
		if stored := countFiles(t, to); err != nil || bytes != reserved*size || stored != files {
			t.Errorf("%s: %d files, %d bytes reserved, %v, want %d and %d pictures of %d bytes",
				when, stored, bytes, err, files, reserved, size)
		}
	}
	first := j.mustImport(t, imports.Settings{}, "a.zip", file)
	size = folderSize(t, to)
	want("planned", 1, 1)
	second := j.mustImport(t, imports.Settings{}, "a.zip", file)
	want("a second plan above the quota", 1, 1)
	j.mustRun(t, first.ID, j.Configure(t.Context(), j.tenant.ID, first.ID, imports.Answers{}))
	want("planned again", 2, 1)
	for _, id := range []int64{first.ID, second.ID} {
		if err := j.Cancel(t.Context(), j.tenant.ID, tenancy.Operator, id); err != nil {
			t.Fatal(err)
		}
	}
	want("cancelled", 2, 0)
}
