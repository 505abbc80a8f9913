// Package cli is what a person types and reads: the flags of the subcommands
// and the text form of their answers. The answers themselves come from package
// tools, as for an MCP client; with --json they are printed as they are.
package cli
