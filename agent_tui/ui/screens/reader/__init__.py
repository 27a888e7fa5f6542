"""The conversation over the whole screen, read as with less."""
