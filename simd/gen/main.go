// Command gen writes the assembly files of package simd: go generate ./simd, or go run ./gen within simd.
//
// Kernels come in families that differ only in a height (a matrix product of 1 to 6 rows), so a program writes them:
// file.go holds the printer, amd64_*.go and arm64_*.go one function per kernel. The files are checked in, and the test
// beside this program fails when they are not what it writes.
package main

import (
	"log"
	"os"
	"path/filepath"
)

func main() {
	for name, text := range files() {
		if err := os.WriteFile(filepath.Clean(name), []byte(text), 0o666); err != nil {
			log.Fatal(err)
		}
	}
}

// files returns the text of every generated file by its name within simd.
func files() map[string]string {
	return map[string]string{
		"vector_avx2_amd64.s":   avx2Vectors(),
		"rows_avx2_amd64.s":     avx2Rows(),
		"matrix_avx2_amd64.s":   avx2Matrix(),
		"vector_avx512_amd64.s": avx512Vectors(),
		"rows_avx512_amd64.s":   avx512Rows(),
		"matrix_avx512_amd64.s": avx512Matrix(),
		"vector_neon_arm64.s":   neonVectors(),
		"rows_neon_arm64.s":     neonRows(),
		"matrix_neon_arm64.s":   neonMatrix(),
	}
}
