"""Sessions on disk: append-only records, restore, replay."""
