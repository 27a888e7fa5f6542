"""Settings from their layers, and where files live."""
