"""Small parts of the main screen."""
