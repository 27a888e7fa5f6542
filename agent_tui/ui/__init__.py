"""The full-screen interface; the only importer of textual."""
