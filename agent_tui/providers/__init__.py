"""Models behind one interface; the only importer of their SDKs."""
