// Package citus contains the files that configure the nodes of a Citus cluster.
package citus

import "embed"

// Files are certificates.sh and node.sh, with the files that node.sh copies.
//
//go:embed *.sh *.conf
var Files embed.FS
