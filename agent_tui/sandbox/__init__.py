"""Operating-system sandboxes for commands: one interface, several backends."""
