"""Sessions on disk: written as they happen, read back whatever happened to the file."""
