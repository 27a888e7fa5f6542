"""Stands in for the prompt until it is there."""
from pathlib import Path
def system_prompt(*, extra: str = "") -> str:
    """x"""
    return "You are a coding agent in a terminal." + extra
async def environment_text(workspace: Path, **_: object) -> str:
    """x"""
    return f"cwd: {workspace}"
