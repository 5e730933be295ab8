package jute

// ValidatePath says whether ZooKeeper takes p as the path of a node: absolute, no empty, "." or ".." parts,
// no slash at the end, no control characters, surrogates, private-use characters or the last sixteen of the basic plane.
func ValidatePath(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	if len(p) == 1 {
		return true
	}
	if p[len(p)-1] == '/' {
		return false
	}
	start := 1
	for i := 1; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			part := p[start:i]
			if part == "" || part == "." || part == ".." {
				return false
			}
			start = i + 1
			continue
		}
		if c := p[i]; c < 0x20 || c == 0x7F {
			return false
		} else if c >= 0x80 {
			return validRunes(p[i:]) && validParts(p)
		}
	}
	return true
}

func validParts(p string) bool {
	start := 1
	for i := 1; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			if part := p[start:i]; part == "" || part == "." || part == ".." {
				return false
			}
			start = i + 1
		}
	}
	return true
}

func validRunes(s string) bool {
	for _, r := range s {
		switch {
		case r < 0x20, r >= 0x7F && r <= 0x9F, r >= 0xD800 && r <= 0xF8FF, r >= 0xFFF0:
			return false
		}
	}
	return true
}
