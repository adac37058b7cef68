package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// MaxImages is the number of images that a product may have.
const MaxImages = 20

// Image is an image of a product, with the URL of another server or a file in the media storage. The images of a
// product are in the order of their positions, from 1.
type Image struct {
	ID       int64  `json:"id"`
	Position int32  `json:"position"`
	URL      string `json:"url,omitempty"`
	File     string `json:"file,omitempty"`
	Width    int32  `json:"width,omitempty"` // of a file
	Height   int32  `json:"height,omitempty"`
	Bytes    int64  `json:"bytes,omitempty"` // of all sizes of a file
}

// CheckUpload returns an error if a picture cannot be added to a product, before it is decoded: ErrNotFound, or an
// InvalidError if the product has too many images or the tenant's files have quota bytes, or a tenants.QuotaError.
func (s *Store) CheckUpload(ctx context.Context, tenant tenancy.ID, product, quota int64) error {
	type state struct{ Images, Bytes int64 }
	var found []state
	var stored []tenants.Quota
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &found, `
			select jsonb_array_length(images) as images,
			       coalesce((select bytes from media_totals where tenant_id = $1), 0) as bytes
			  from products
			 where tenant_id = $1 and id = $2`, tenant, product)
		tenants.QueueQuota(b, tenant, &stored)
	})
	switch {
	case err != nil:
	case len(found) == 0 || len(stored) == 0:
		err = tenancy.ErrNotFound
	case found[0].Images >= MaxImages:
		err = tenancy.InvalidError{"images": {tooManyImages}}
	case found[0].Bytes >= quota:
		err = errMediaQuota(quota)
	default:
		err = stored[0].Take(1, 0) // any picture
	}
	return tenancy.Wrap(err, "add a picture to product %d", product)
}

func errMediaQuota(quota int64) error {
	return tenancy.InvalidError{"file": {fmt.Sprintf(
		"would exceed the storage for images of this account, which is %d MiB: delete others first", quota>>20)}}
}

// MediaBytes returns the size of the files of a tenant's images.
func (s *Store) MediaBytes(ctx context.Context, tenant tenancy.ID) (int64, error) {
	total, err := db.One[struct{ Bytes int64 }](ctx, s.db, tenant, `
		select coalesce((select bytes from media_totals where tenant_id = $1), 0) as bytes`, tenant)
	return total.Bytes, tenancy.Wrap(err, "read the size of files")
}

// AddUpload is AddImage for a picture that CheckUpload has allowed. It checks the quota again, because uploads at the same
// time do not see each other before.
func (s *Store) AddUpload(ctx context.Context, by Actor, product int64, image Image, quota int64) (added Image, err error) {
	var totals []struct{ Bytes int64 }
	err = s.changeImages(ctx, by, product, func(b *pgx.Batch) {
		b.Queue(`insert into media_totals (tenant_id, bytes) values ($1, 0) on conflict do nothing`, by.Tenant)
		db.QueueRows(b, &totals, `select bytes from media_totals where tenant_id = $1 for update`, by.Tenant)
	}, func(images []Image, id int64) ([]Image, error) {
		switch {
		case len(images) >= MaxImages:
			return nil, tenancy.InvalidError{"images": {tooManyImages}}
		case totals[0].Bytes >= quota:
			return nil, errMediaQuota(quota)
		}
		image.ID = id
		images = number(append(images, image))
		added = images[len(images)-1]
		return images, nil
	})
	return added, tenancy.Wrap(err, "add a picture to product %d", product)
}

// AddImage adds an image at the end. Its ID and Position are set here. It returns ErrNotFound or an InvalidError, with
// the errors in invalid, which the caller found.
func (s *Store) AddImage(
	ctx context.Context, by Actor, product int64, image Image, invalid tenancy.InvalidError,
) (added Image, err error) {
	invalid = invalid.Clone()
	if image.File == "" && len(invalid["url"]) == 0 {
		var problem string
		image.URL, problem = CheckImageURL(image.URL)
		addProblem(invalid, "url", problem)
	}
	err = s.changeImages(ctx, by, product, nil, func(images []Image, id int64) ([]Image, error) {
		if len(images) >= MaxImages {
			addProblem(invalid, "images", tooManyImages)
		}
		image.ID = id
		images = number(append(images, image))
		added = images[len(images)-1]
		return images, invalid.Err()
	})
	return added, tenancy.Wrap(err, "add an image to product %d", product)
}

// MoveImage moves an image to a position; the others make room for it. A position after the last one is the last one.
// It returns ErrNotFound or an InvalidError, with the errors in invalid, which the caller found.
func (s *Store) MoveImage(
	ctx context.Context, by Actor, product, id, position int64, invalid tenancy.InvalidError,
) (moved Image, err error) {
	invalid = invalid.Clone()
	if len(invalid["position"]) == 0 && (position < 1 || position > MaxImages) {
		invalid.Add("position", "must be between 1 and %d", MaxImages)
	}
	err = s.changeImages(ctx, by, product, nil, func(images []Image, _ int64) ([]Image, error) {
		from := indexOfImage(images, id)
		if from < 0 {
			return nil, tenancy.ErrNotFound
		}
		if err := invalid.Err(); err != nil {
			return nil, err
		}
		moved = images[from]
		to := min(int(position), len(images)) - 1
		images = number(slices.Insert(slices.Delete(images, from, from+1), to, moved))
		moved = images[to]
		return images, nil
	})
	return moved, tenancy.Wrap(err, "move image %d of product %d", id, product)
}

// RemoveImage removes an image. It returns ErrNotFound.
func (s *Store) RemoveImage(ctx context.Context, by Actor, product, id int64) error {
	err := s.changeImages(ctx, by, product, nil, func(images []Image, _ int64) ([]Image, error) {
		i := indexOfImage(images, id)
		if i < 0 {
			return nil, tenancy.ErrNotFound
		}
		return number(slices.Delete(images, i, i+1)), nil
	})
	return tenancy.Wrap(err, "remove image %d of product %d", id, product)
}

// changeImages writes what change returns for a copy of the images of a product. newID is for a new image. read adds
// queries whose results change sees; it may be nil.
func (s *Store) changeImages(
	ctx context.Context, by Actor, product int64, read func(*pgx.Batch),
	change func(images []Image, newID int64) ([]Image, error),
) error {
	var locked lockedProduct
	var ids []rowID
	return s.db.Update(ctx, by.Tenant, func(b *pgx.Batch) {
		locked.queue(b, by.Tenant, product)
		queueImageIDs(b, &ids, 1)
		if read != nil {
			read(b)
		}
	}, func(b *pgx.Batch) error {
		if err := locked.check(nil); err != nil {
			return err
		}
		images, err := change(slices.Clone(locked.Images), ids[0].ID)
		if err != nil || slices.Equal(images, locked.Images) {
			return err
		}
		b.Queue(`
			update products
			   set images = $3, updated_at = clock_timestamp(), changed_at = clock_timestamp()
			 where tenant_id = $1 and id = $2`, by.Tenant, product, imagesJSON(images))
		return nil
	})
}

// queueImageIDs reads n new ids.
func queueImageIDs(b *pgx.Batch, ids *[]rowID, n int) {
	db.QueueRows(b, ids, `select nextval('image_ids') as id from generate_series(1, $1::integer)`, n)
}

func addProblem(invalid tenancy.InvalidError, field, problem string) {
	if problem != "" {
		invalid.Add(field, "%s", problem)
	}
}

// number sets the positions.
func number(images []Image) []Image {
	for i := range images {
		images[i].Position = int32(i + 1)
	}
	return images
}

func indexOfImage(images []Image, id int64) int {
	return slices.IndexFunc(images, func(i Image) bool { return i.ID == id })
}

var tooManyImages = fmt.Sprintf("must hold at most %d images", MaxImages)

const maxImageURL = 2048

// CheckImageURL returns the stored form of a URL, which has no blanks, or why it is not valid. The URL is never
// fetched.
func CheckImageURL(address string) (stored, problem string) {
	u, err := url.Parse(address)
	switch {
	case len(address) > maxImageURL:
		return "", fmt.Sprintf("must have at most %d bytes", maxImageURL)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.User != nil:
		return "", "must be an http or https URL without a user name"
	}
	u.RawQuery = strings.ReplaceAll(u.RawQuery, " ", "%20")
	if stored = u.String(); len(stored) > maxImageURL {
		return "", fmt.Sprintf("must have at most %d bytes when it is escaped", maxImageURL)
	}
	return stored, ""
}

// URLs returns the URLs of the images that have no file.
func URLs(images []Image) []string {
	urls := []string{}
	for _, image := range images {
		if image.File == "" {
			urls = append(urls, image.URL)
		}
	}
	return urls
}

// setImageURLs returns the images after a row of a bulk request with these URLs. An image that the product already has
// keeps its id, and new images have the id 0. Images with files stay, and come first unless the URLs do not change.
func setImageURLs(stored []Image, urls []string, invalid tenancy.InvalidError) (images []Image, problem string) {
	after, all := []string{}, []string{} // all has repeated URLs, as a product can have them
	for _, image := range stored {
		if image.File != "" {
			images = append(images, image)
		}
	}
	for i, address := range urls {
		address, problem := CheckImageURL(address)
		if problem != "" {
			invalid.Add(fmt.Sprintf("images[%d]", i), "%s", problem)
			continue
		}
		all = append(all, address)
		if slices.Contains(after, address) {
			continue
		}
		after = append(after, address)
		image := Image{URL: address}
		if at := slices.IndexFunc(stored, func(other Image) bool { return other.URL == address }); at >= 0 {
			image = stored[at]
		}
		images = append(images, image)
	}
	if before := URLs(stored); slices.Equal(before, after) || slices.Equal(before, all) {
		return stored, ""
	}
	if len(images) > MaxImages {
		return nil, tooManyImages
	}
	return number(images), ""
}

// imagesJSON returns a value for the column images.
func imagesJSON(images []Image) json.RawMessage {
	text, err := json.Marshal(append([]Image{}, images...))
	if err != nil {
		panic(err) // impossible: numbers and strings
	}
	return text
}
