package imports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"

	archives "github.com/storeroom/storeroom/api/archive"
	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	maxManifest   = 32 << 20
	maxArchiveIDs = 2_000_000 // different ids of all tables, 16 bytes each
	maxQuoted     = 100       // characters of names in errors
	// Other columns than those of our files are ignored.
	maxArchiveColumns = 100
)

// archive is an archive that is read and planned. Its ids are those of the exported tenant until the planner replaces
// them.
type archive struct {
	manifest archives.Manifest
	open     func() (*table.Archive, error)
	space    *table.Space
	sources  map[string]*source // by the name of the file, without .csv
	ids      map[string]*newIDs // by table
	sold     *soldRows
	timezone string // if it differs from the tenant's
}

// openArchive returns the archive of dir and verifies it, or nil if there is none.
func (r *reading) openArchive(ctx context.Context, dir fs.FS) (*archive, error) {
	file, others, err := table.FindArchive(dir, r.space, archives.ManifestName)
	if file == nil || err != nil {
		return nil, err
	}
	defer file.Close()
	a := &archive{space: r.space, sources: map[string]*source{}, open: func() (*table.Archive, error) {
		file, _, err := table.FindArchive(dir, r.space, archives.ManifestName)
		return file, err
	}}
	isArchive, err := a.readManifest(file)
	switch {
	case err == nil && !isArchive:
		return nil, nil
	case err == nil && len(others) > 0:
		err = fmt.Errorf("an archive must be imported alone, without %s", others[0])
	case err == nil && !currencyCode.MatchString(a.manifest.Tenant.Currency):
		err = fmt.Errorf("%q in %s is not a currency",
			shorten(a.manifest.Tenant.Currency, maxQuoted), archives.ManifestName)
	case err == nil && a.manifest.Tenant.Currency != r.tenant.Currency:
		err = fmt.Errorf("the archive is of a tenant with the currency %s, and this tenant has %s: import it into a tenant "+
			"that was created with the currency %[1]s", a.manifest.Tenant.Currency, r.tenant.Currency)
	case err == nil:
		err = a.verify(ctx, file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	if zone := a.manifest.Tenant.Timezone; zone != r.tenant.Timezone.String() {
		if _, err := tenancy.LoadZone(zone); err != nil {
			return nil, fmt.Errorf("%s: %q in %s is not a time zone",
				file.Name, shorten(zone, maxQuoted), archives.ManifestName)
		}
		a.timezone = zone
	}
	if err := r.openArchived(ctx, a, file); err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	return a, nil
}

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// readManifest reports whether the file is an archive.
func (a *archive) readManifest(file *table.Archive) (bool, error) {
	if err := file.Check(); err != nil {
		return false, err
	}
	content, err := file.Open(archives.ManifestName)
	if err != nil {
		return false, err
	}
	defer content.Close()
	names := file.Names()
	limit := min(maxManifest, 64<<10+400*len(names)) // enough for each picture
	text, err := io.ReadAll(io.LimitReader(content, int64(limit)+1))
	if err != nil {
		return false, fmt.Errorf("%s: %w", archives.ManifestName, err)
	}
	// Another version may have values of other types.
	var head struct {
		Format  string
		Version int
	}
	if len(text) > limit || json.Unmarshal(text, &head) != nil || head.Format != archives.Format {
		if slices.Contains(names, "sold_products.csv") {
			return false, fmt.Errorf("the archive is damaged: %s is not the manifest of an archive",
				archives.ManifestName)
		}
		return false, nil
	}
	if head.Version != archives.Version {
		return false, fmt.Errorf("the archive has version %d, and this program reads version %d",
			head.Version, archives.Version)
	}
	if err := json.Unmarshal(text, &a.manifest); err != nil {
		return false, fmt.Errorf("%s: %w", archives.ManifestName, err)
	}
	return true, nil
}

// pictureName matches the names of pictures. Nothing is ever stored under these names.
var pictureName = regexp.MustCompile(`^images/[A-Za-z0-9_-]{1,100}(\.[A-Za-z0-9]{1,10})?$`)

// verify compares the entries with the manifest.
func (a *archive) verify(ctx context.Context, file *table.Archive) error {
	listed := map[string]archives.Picture{}
	for _, f := range a.manifest.Files {
		listed[f.Name] = archives.Picture{Name: f.Name, Bytes: f.Bytes, SHA256: f.SHA256}
	}
	expected := []string{export.LedgerFile.Name}
	for _, f := range archiveFiles {
		expected = append(expected, f.name)
	}
	for _, name := range expected {
		if _, exists := listed[name+".csv"]; !exists {
			return fmt.Errorf("%s.csv is missing in %s", name, archives.ManifestName)
		}
	}
	if len(a.manifest.Files) != len(expected) {
		return fmt.Errorf("%s has other files than those of version %d", archives.ManifestName, archives.Version)
	}
	for _, p := range a.manifest.Pictures {
		if !pictureName.MatchString(p.Name) {
			return fmt.Errorf("%q in %s is not a picture", shorten(p.Name, maxQuoted), archives.ManifestName)
		}
		listed[p.Name] = p
	}
	for _, name := range file.Names() {
		f, exists := listed[name]
		switch {
		case name == archives.ManifestName:
			continue
		case !exists:
			return fmt.Errorf("%q is not in %s", shorten(name, maxQuoted), archives.ManifestName)
		}
		delete(listed, name)
		if err := verifyEntry(ctx, file, f); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

func verifyEntry(ctx context.Context, file *table.Archive, listed archives.Picture) error {
	content, err := file.Open(listed.Name)
	if err != nil {
		return err
	}
	defer content.Close()
	hash := sha256.New()
	var size int64
	for {
		n, err := io.CopyN(hash, content, 1<<20)
		size += n
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("is damaged: %w", err)
		}
	}
	if size != listed.Bytes {
		return fmt.Errorf("is damaged: it has %d bytes instead of %d", size, listed.Bytes)
	}
	if hex.EncodeToString(hash.Sum(nil)) != listed.SHA256 {
		return fmt.Errorf("is damaged: its SHA-256 differs from the one in %s", archives.ManifestName)
	}
	return nil
}

// openArchived opens the files of an archive, reads each once and collects their ids.
func (r *reading) openArchived(ctx context.Context, a *archive, file *table.Archive) error {
	a.ids = map[string]*newIDs{"sold_products": {}, "products": {}, "categories": {}, "sellers": {}, "warehouses": {}}
	for _, f := range a.manifest.Files {
		if base(f.Name) == export.LedgerFile.Name {
			continue
		}
		t, err := file.File(f.Name)
		if err != nil {
			return err
		}
		s := &source{File: File{Name: t.Name, Size: t.Size}, table: t, zone: r.tenant.Timezone}
		if err := s.useArchived(ctx, formatOf(archiveFiles, base(f.Name))); err != nil {
			return err
		}
		observed := *s.format
		last, problem := int64(0), error(nil)
		observed.observe = func(s *source, c, _ cells) {
			if problem == nil {
				problem = a.collect(s, c, &last)
			}
		}
		s.format, s.Format = &observed, s.name
		if err := s.scan(ctx); err != nil {
			return err
		}
		if problem != nil {
			return problem
		}
		if int64(s.Rows) != f.Rows {
			return fmt.Errorf("%s is damaged: it has %d rows instead of %d", s.Name, s.Rows, f.Rows)
		}
		s.decide(r.settings)
		a.sources[s.name] = s
		r.sources = append(r.sources, s)
	}
	return nil
}

// useArchived sets the format of a file of an archive. Columns that are not known are ignored.
func (s *source) useArchived(ctx context.Context, f *format) error {
	rows, err := s.table.Open(ctx)
	if err != nil {
		return s.readError(0, err)
	}
	defer rows.Close()
	header, err := rows.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return s.readError(0, err)
	}
	s.Header, s.skip = slices.Clone(header.Cells), 1
	if len(s.Header) > maxArchiveColumns {
		return fmt.Errorf("%s has more than %d columns", s.Name, maxArchiveColumns)
	}
	return s.useOwn(f, 1)
}

// collect adds the ids of a row. last is the id of the row before.
func (a *archive) collect(s *source, c cells, last *int64) error {
	switch s.name {
	case "sold_products":
		a.ids["products"].add(c.number("product"))
		a.ids["categories"].add(c.number("category"))
		a.ids["sellers"].add(c.number("seller"))
		fallthrough
	case "products", "categories", "sellers", "warehouses":
		id := c.number("id")
		if id <= *last {
			return fmt.Errorf("%s line %d: the id must be a whole number above that of the row before, %d",
				s.Name, c.line, *last)
		}
		*last = id
		a.ids[s.name].add(id)
	}
	distinct := 0
	for _, ids := range a.ids {
		distinct += ids.sorted
	}
	if distinct > maxArchiveIDs {
		return fmt.Errorf("%s line %d: the archive has more than %d ids of products, categories, sellers, warehouses "+
			"and sold products", s.Name, c.line, maxArchiveIDs)
	}
	return nil
}

// newIDs maps the ids of an archive, in ascending order, to new ids.
type newIDs struct {
	old, new []int64
	sorted   int // of old, when they were sorted
}

// add adds the id of a row. An empty cell is read as 0, which is not an id.
func (n *newIDs) add(id int64) {
	if id <= 0 || len(n.old) > 0 && n.old[len(n.old)-1] == id {
		return
	}
	if n.old = append(n.old, id); len(n.old) > 2*n.sorted+1000 {
		n.sort()
	}
}

func (n *newIDs) sort() {
	slices.Sort(n.old)
	n.old = slices.Compact(n.old)
	n.sorted = len(n.old)
}

// of returns the id that a row gets, or 0 for none.
func (n *newIDs) of(old int64) int64 {
	if i, exists := slices.BinarySearch(n.old, old); exists {
		return n.new[i]
	}
	return 0
}

// set sets the id of a row that exists in the tenant.
func (n *newIDs) set(old, id int64) {
	if i, exists := slices.BinarySearch(n.old, old); exists {
		n.new[i] = id
	}
}

// reserveIDs is how many ids a statement takes.
const reserveIDs = 10_000

// reserve takes an id for each row of the archive and for each deleted row that items refer to. They keep their order,
// by which reports sort rows that are otherwise equal.
func (a *archive) reserve(ctx context.Context, tenant tenancy.ID, products *catalog.Store, orders *sales.Store) error {
	for name, ids := range a.ids {
		ids.sort()
		ids.new = make([]int64, 0, len(ids.old))
		for len(ids.new) < len(ids.old) {
			var taken []int64
			var err error
			if n := min(reserveIDs, len(ids.old)-len(ids.new)); name == "sold_products" {
				taken, err = orders.NewSoldIDs(ctx, tenant, n)
			} else {
				taken, err = products.NewIDs(ctx, tenant, name, n)
			}
			if err != nil {
				return err
			}
			ids.new = append(ids.new, taken...)
		}
		slices.Sort(ids.new)
	}
	return nil
}

// replace replaces the ids of a record by those of the tenant.
func (a *archive) replace(r *Record) {
	switch {
	case r.Product != nil && r.Product.Archived != nil:
		archived := *r.Product.Archived
		archived.ID = a.ids["products"].of(r.OldID)
		r.Product.Archived = &archived
	case r.Order != nil:
		for i := range r.Order.Items {
			item := &r.Order.Items[i]
			if item.Sold == nil {
				continue
			}
			sold := *item.Sold
			sold.ID = a.ids["sold_products"].of(sold.ID)
			sold.Product = a.ids["products"].of(sold.Product)
			sold.Category = a.ids["categories"].of(sold.Category)
			sold.Seller = a.ids["sellers"].of(sold.Seller)
			item.Sold = &sold
		}
	case r.OldID > 0 && referenceKinds[r.Kind] != "":
		r.NewID = a.ids[string(referenceKinds[r.Kind])].of(r.OldID)
	}
}

// exists remembers that a row exists in the tenant.
func (a *archive) exists(r *Record) {
	switch {
	case r.storedID <= 0 || r.OldID == 0:
	case r.Kind == Product:
		a.ids["products"].set(r.OldID, r.storedID)
	default:
		a.ids[string(referenceKinds[r.Kind])].set(r.OldID, r.storedID)
	}
}
