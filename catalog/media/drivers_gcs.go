//go:build gcs

package media

import (
	_ "gocloud.dev/blob/gcsblob" // 29 MB of the program, so it needs the build tag gcs
)
