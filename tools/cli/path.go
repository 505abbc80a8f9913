package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

var (
	drivePath = regexp.MustCompile(`^([A-Za-z]):[\\/]+(.*)$`)
	wslShare  = regexp.MustCompile(`(?i)^[\\/]{2,}wsl(?:\$|\.localhost)[\\/]+[^\\/]+[\\/]*(.*)$`)
	unixDrive = regexp.MustCompile(`^/(?:mnt/|cygdrive/)?([A-Za-z])(?:/(.*))?$`)
)

// LocalPath turns a folder as people write it into one that this system can
// open. A leading ~ is the home folder, which clients hand over as it stands.
// Inside WSL a Windows path, as a client on Windows has it, becomes the place
// where WSL mounts the drive: C:\Users\x is /mnt/c/Users/x. So does the path by
// which Windows reaches into WSL: \\wsl.localhost\Debian\home\x is /home/x. Every
// other path comes back as it is.
func LocalPath(path string) string {
	home, _ := os.UserHomeDir() // without one, ~ stays
	return localPath(path, home, inWSL())
}

func localPath(path, home string, wsl bool) string {
	rest, ok := strings.CutPrefix(path, "~")
	if ok && home != "" && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		return filepath.Join(home, rest)
	}
	if !wsl {
		return path
	}
	if parts := drivePath.FindStringSubmatch(path); parts != nil {
		return filepath.Join("/mnt", strings.ToLower(parts[1]), strings.ReplaceAll(parts[2], `\`, "/"))
	}
	if parts := wslShare.FindStringSubmatch(path); parts != nil {
		return filepath.Join("/", strings.ReplaceAll(parts[1], `\`, "/"))
	}
	return path
}

// VaultAdvice says what to do about a vault that cannot be opened. To Windows, a
// path from inside WSL or of a Unix shell is a folder that does not exist.
func VaultAdvice(dir string) string { return vaultAdvice(dir, runtime.GOOS) }

func vaultAdvice(dir, goos string) string {
	windows := strings.ReplaceAll(dir, "/", `\`)
	parts := unixDrive.FindStringSubmatch(dir)
	switch {
	case goos == "windows" && parts != nil:
		return fmt.Sprintf(`on Windows that folder is %s:\%s: pass this to --vault or SMART_VAULT_PATH`,
			strings.ToUpper(parts[1]), strings.ReplaceAll(parts[2], "/", `\`))
	case goos == "windows" && strings.HasPrefix(windows, `\`) && !strings.HasPrefix(windows, `\\`):
		return fmt.Sprintf(`on Windows a folder inside WSL is \\wsl.localhost\DISTRIBUTION%s: pass this to --vault or SMART_VAULT_PATH`, windows)
	}
	return "pass --vault DIR or set SMART_VAULT_PATH"
}

// inWSL reports whether this is Linux under Windows, which names itself so.
func inWSL() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return err == nil && strings.Contains(strings.ToLower(string(kernel)), "microsoft")
}
