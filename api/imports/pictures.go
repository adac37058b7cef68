package imports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
)

// Pictures is where the pictures of archives are stored. Without a Store they are left out.
type Pictures struct {
	Store  *media.Store
	Memory int64 // of a child process that decodes one
	Quota  int64 // of each tenant, in bytes
	// Turn limits the time for which an archive decodes pictures. After it, plans of other tenants go first. 0 is no limit.
	Turn time.Duration
}

// pictureTries limits how often a picture is decoded if other work needs the CPUs.
const pictureTries = 3

// reservation is how long a plan reserves its pictures: one day in which it can be applied, seven in which it can be
// continued after a failure, and one in reserve.
const reservation = 9 * 24 * time.Hour

// reservedUntil identifies the reservations of a plan, across all tries to compute it.
func reservedUntil(created time.Time) time.Time { return created.Add(reservation) }

// pictures stores the pictures of an archive while it is planned. Applying the plan uses them. Those that no product
// uses are deleted when their reservation ends, and soon if the plan is computed again or cancelled.
type pictures struct {
	Pictures
	db     *db.DB
	tenant tenancy.ID
	space  *table.Space
	file   *table.Archive
	listed map[string]bool
	used   int64 // bytes of the tenant
	until  time.Time
	kept   map[string]keptPicture // of this and earlier turns, by name and use
	uses   map[string]int         // of each name, in this turn: every image has a file of its own
	spent  time.Duration          // on pictures, in this turn
}

// keptPicture is a picture that is stored, or why it is not, in the details of a plan that is not complete.
type keptPicture struct {
	File          string
	Width, Height int32
	Bytes         int64
	Problem       string
}

func (k keptPicture) image() catalog.Image {
	return catalog.Image{File: k.File, Width: k.Width, Height: k.Height, Bytes: k.Bytes}
}

// openPictures returns nil if pictures are not stored.
func (p *planner) openPictures(ctx context.Context) (*pictures, error) {
	if p.Pictures.Store == nil || p.archive == nil || p.isDry() {
		return nil, nil
	}
	s := &pictures{
		Pictures: p.Pictures, db: p.db, tenant: p.tenant, space: p.archive.space, listed: map[string]bool{},
		until: reservedUntil(p.created), kept: p.kept, uses: map[string]int{},
	}
	var files []string
	for _, picture := range s.kept {
		files = append(files, picture.File)
	}
	for _, f := range p.archive.manifest.Pictures {
		s.listed[f.Name] = true
	}
	err := media.ReleasePlan(ctx, s.db, s.tenant, s.until, files...) // of earlier tries
	var reserved int64
	if err == nil {
		reserved, err = media.ReservedBytes(ctx, s.db, s.tenant)
	}
	if err == nil {
		s.used, err = p.catalog.MediaBytes(ctx, p.tenant)
		s.used += reserved
	}
	if err == nil {
		s.file, err = p.archive.open()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *pictures) close() {
	if s != nil {
		_ = s.file.Close() // it was read
	}
}

// images stores the pictures of a planned product. An image that cannot be stored is left out with a note.
func (p *planner) images(ctx context.Context, row *Record) error {
	archived := row.Product.Archived
	if archived == nil || len(archived.Images) == 0 {
		return nil
	}
	all := *archived
	all.Images = nil
	for _, image := range archived.Images {
		problem, err := "", error(nil)
		switch {
		case !row.setsImages:
			continue
		case len(all.Images) == catalog.MaxImages:
			problem = fmt.Sprintf("the product has more than %d images", catalog.MaxImages)
		case image.File == "":
			image.URL, problem = catalog.CheckImageURL(image.URL)
		case p.isDry():
		case p.pictures == nil:
			problem = "pictures are not stored"
		default:
			image, problem, err = p.pictures.picture(ctx, "images/"+image.File)
		}
		if err != nil {
			return err
		}
		if problem != "" {
			row.Notes = append(row.Notes, Note{Text: "an image was not imported: " + problem})
			continue
		}
		all.Images = append(all.Images, image)
	}
	row.Product.Archived = &all
	return nil
}

// picture returns a stored picture, or why it is not stored. It returns changeplan.ErrPaused at the end of the turn.
func (s *pictures) picture(ctx context.Context, name string) (image catalog.Image, problem string, err error) {
	s.uses[name]++
	use := fmt.Sprintf("%s %d", name, s.uses[name])
	kept, exists := s.kept[use]
	switch {
	case exists:
		return kept.image(), kept.Problem, nil
	case s.Turn > 0 && s.spent >= s.Turn:
		return image, "", changeplan.ErrPaused
	}
	began := time.Now()
	image, problem, err = s.store(ctx, name)
	s.spent += time.Since(began)
	if err == nil && s.kept != nil {
		s.kept[use] = keptPicture{image.File, image.Width, image.Height, image.Bytes, problem}
	}
	return image, problem, err
}

// store decodes and stores a picture, or returns why not.
func (s *pictures) store(ctx context.Context, name string) (image catalog.Image, problem string, err error) {
	switch {
	case !s.listed[name]:
		return image, "the archive does not have the picture", nil
	case s.used >= s.Quota:
		return image, fmt.Sprintf("it would exceed the storage for images of this account, which is %d MiB", s.Quota>>20), nil
	}
	var picture media.Processed
	for try := 1; ; try++ {
		var buffer *table.TempFile
		if buffer, err = s.space.File(); err != nil {
			return image, "", err
		}
		defer buffer.Close() // after it is written to the storage
		picture, err = s.process(ctx, name, buffer)
		if !errors.Is(err, media.ErrSlow) || try == pictureTries {
			break
		}
	}
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
		return image, "it " + invalid["file"][0], nil
	}
	if err == nil {
		err = media.ReserveForPlan(ctx, s.db, s.tenant, picture, s.until)
	}
	if err == nil {
		err = s.Store.Write(ctx, picture)
	}
	if err != nil {
		return image, "", fmt.Errorf("store a picture: %w", err)
	}
	s.used += picture.Bytes
	return catalog.Image{
		File: picture.File, Width: int32(picture.Width), Height: int32(picture.Height), Bytes: picture.Bytes,
	}, "", nil
}

func (s *pictures) process(ctx context.Context, name string, buffer io.ReadWriteSeeker) (p media.Processed, err error) {
	release, err := limits.FromContext(ctx).Take(ctx, limits.Pictures, 1)
	if err != nil {
		return p, err
	}
	defer release()
	if _, err := buffer.Seek(0, io.SeekStart); err != nil {
		return p, err
	}
	upload, err := s.file.Open(name)
	if err != nil {
		return p, err
	}
	defer upload.Close()
	return media.Process(ctx, s.tenant, s.Memory, upload, buffer, func() (io.Reader, error) {
		_, err := buffer.Seek(0, io.SeekStart)
		return buffer, err
	})
}
