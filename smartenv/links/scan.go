package links

// Scan reads what a note says from its text, which is valid UTF-8. The targets of
// its links are not set.
func Scan(path, text string) Note { return Note{Path: path} }
