"""Release folders: written, read back, converted."""
