package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

var drivePath = regexp.MustCompile(`^([A-Za-z]):[\\/]+(.*)$`)

// LocalPath turns a folder as people write it into one that this system can
// open. A leading ~ is the home folder, which clients hand over as it stands.
// Inside WSL a Windows path, as a client on Windows has it, becomes the place
// where WSL mounts the drive: C:\Users\x is /mnt/c/Users/x. Every other path
// comes back as it is.
func LocalPath(path string) string {
	home, _ := os.UserHomeDir() // without one, ~ stays
	return localPath(path, home, inWSL())
}

func localPath(path, home string, wsl bool) string {
	rest, ok := strings.CutPrefix(path, "~")
	if ok && home != "" && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		return filepath.Join(home, rest)
	}
	parts := drivePath.FindStringSubmatch(path)
	if !wsl || parts == nil {
		return path
	}
	return filepath.Join("/mnt", strings.ToLower(parts[1]), strings.ReplaceAll(parts[2], `\`, "/"))
}

// inWSL reports whether this is Linux under Windows, which names itself so.
func inWSL() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return err == nil && strings.Contains(strings.ToLower(string(kernel)), "microsoft")
}
