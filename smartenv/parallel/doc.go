// Package parallel shares work out to goroutines, so that a panic in it reaches
// whoever asked for the work.
package parallel
