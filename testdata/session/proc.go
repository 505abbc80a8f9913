package session

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Megabytes reads a size of the process's, such as VmRSS, in MB of a million
// bytes. Only Linux tells.
func (p *Process) Megabytes(field string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return statusSize(string(data), field)
}

var kilobytes = regexp.MustCompile(`^\s*(\d+) kB$`)

// statusSize is a field of a /proc status file, in MB.
func statusSize(status, field string) (float64, error) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if m := kilobytes.FindStringSubmatch(value); name == field && m != nil {
			kb, err := strconv.Atoi(m[1])
			return float64(kb) * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("/proc tells no %s", field)
}

// Descriptors counts the process's open files. Only Linux tells.
func (p *Process) Descriptors() (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Cmd.Process.Pid))
	return len(open), err
}
