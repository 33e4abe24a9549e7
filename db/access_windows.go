package db

// writable leaves the question to the write itself: the attributes of Windows
// do not tell what a list of rights allows.
func writable(string) error { return nil }
