package media

import (
	// The storages of STOREROOM_MEDIA_URL; drivers_gcs.go has another one.
	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/s3blob"
)
