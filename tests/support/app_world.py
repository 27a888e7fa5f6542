from pathlib import Path

THEMES = Path(__file__).parents[2] / "themes"
