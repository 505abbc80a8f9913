// Package disk makes all calls of the system by which smartenv and note look at
// the files of a vault. They read only, and in such a way that Obsidian can write,
// rename and delete what is being read.
//
// That all calls are in one place is for the sake of tests: a Tap makes any of them
// fail, wait or read short, so that it can be seen what becomes of the answers.
//
// No call can be interrupted. On a network drive that hangs, one takes until the
// system gives up, whatever the caller's context says; no further one is begun.
package disk
