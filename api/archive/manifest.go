package archive

import "time"

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
	Format    string    `json:"format"`
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	Tenant    Tenant    `json:"tenant"`
	Files     []File    `json:"files"`
	Images    Images    `json:"images"`
	Pictures  []Picture `json:"pictures"`
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
