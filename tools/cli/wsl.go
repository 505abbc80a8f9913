package cli

import (
	"os"
	"regexp"
	"runtime"
	"strings"
)

var drivePath = regexp.MustCompile(`^([A-Za-z]):[\\/]+(.*)$`)

// MountedPath translates a Windows path, as a client on Windows hands it to a
// server inside WSL, to where WSL mounts the drive: C:\Users\x becomes
// /mnt/c/Users/x. It is false outside WSL and for every other path.
func MountedPath(path string) (string, bool) {
	return mountedPath(path, inWSL())
}

func mountedPath(path string, wsl bool) (string, bool) {
	parts := drivePath.FindStringSubmatch(path)
	if !wsl || parts == nil {
		return path, false
	}
	rest := strings.Trim(strings.ReplaceAll(parts[2], `\`, "/"), "/")
	return strings.TrimSuffix("/mnt/"+strings.ToLower(parts[1])+"/"+rest, "/"), true
}

// inWSL reports whether this is Linux under Windows, which names itself so.
func inWSL() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return err == nil && strings.Contains(strings.ToLower(string(kernel)), "microsoft")
}
