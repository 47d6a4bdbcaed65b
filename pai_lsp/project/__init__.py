"""What holds for a file because of where it lies: its configuration, its marketplace, and which files are checked."""
