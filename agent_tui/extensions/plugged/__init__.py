"""Extensions: Python files, installed packages and programs that add tools, commands and listeners."""
