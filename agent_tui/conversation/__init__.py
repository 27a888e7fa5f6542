"""The open conversation as the screen, headless runs and editors see it."""
