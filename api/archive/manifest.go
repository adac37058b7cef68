package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Format and Version identify an archive in its manifest.
const (
	Format  = "storeroom-archive"
	Version = 1
)

// Names of entries.
const (
	ManifestName = "manifest.json" // the last entry
	imagesFolder = "images/"
)

// Manifest lists the content of an archive.
type Manifest struct {
	Format    string        `json:"format"`
	Version   int           `json:"version"`
	CreatedAt time.Time     `json:"created_at"`
	Tenant    Tenant        `json:"tenant"`
	Files     list[File]    `json:"files"`
	Images    Images        `json:"images"`
	Pictures  list[Picture] `json:"pictures"`
}

// maxListed limits a list that is read. A ZIP with more entries is not opened, because its directory is too large.
const maxListed = 200_000

// list is a list of a manifest.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler. An element can need much more memory than its text.
func (all *list[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(text))
	if start, err := in.Token(); err != nil || start != json.Delim('[') {
		return errors.New("a list of files is not an array")
	}
	*all = nil
	for in.More() {
		var element T
		if err := in.Decode(&element); err != nil {
			return err
		}
		if len(*all) == maxListed {
			return fmt.Errorf("a list has more than %d files", maxListed)
		}
		*all = append(*all, element)
	}
	return nil
}

// Tenant has the settings of the exported tenant. An import compares them with those of its own tenant.
type Tenant struct {
	Slug     string `json:"slug"`
	Name     string `json:"name"`
	Timezone string `json:"timezone"`
	Currency string `json:"currency"`
}

// File is a CSV file. The rows are without the header, the bytes without compression.
type File struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Picture is the full picture of an image.
type Picture struct {
	Name   string `json:"name"` // of the entry, such as images/TOKEN.jpg
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Images are the sums of the pictures. Missing counts pictures in images.csv that were not in the media storage.
type Images struct {
	Files   int64 `json:"files"`
	Bytes   int64 `json:"bytes"`
	Missing int64 `json:"missing"`
}
