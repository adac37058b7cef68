//go:build ops

package reports_test

func init() {
	releasedSchemas = []int{3, 6, 10, 12, 19, 23, 26, 28, 31, 34, 36, 37, 38, 42, 44, 45, 46, 47, 48, 56, 61}
}
