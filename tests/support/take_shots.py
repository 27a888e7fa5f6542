"""Takes the pictures of every screen anew: python -m tests.support.take_shots [SCENE ...]; look at the difference."""

import asyncio
import sys
from pathlib import Path

from tests.support.gallery import PICTURES, SCENES, program, reach
from tests.support.shots import DRAWN, shoot

FOLDER = Path(__file__).parents[1] / "ui" / "snapshots"


async def picture(name: str, size: tuple[int, int]) -> str:
    """Give a screen as text: its characters, then its styles in the dark and in the light theme."""
    app, backend = program(SCENES[name], "dark")
    async with app.run_test(size=size) as pilot:
        await reach(SCENES[name], app, pilot, backend)
        dark = shoot(app)
        app.use_theme(app.shelf.load("light"))
        for _ in range(3):
            await pilot.pause(0.02)
        light = shoot(app)
    assert words(light.text) == words(dark.text)
    (runs, legend), (light_runs, light_legend) = dark.styles(), light.styles()
    if light_runs == runs:
        light_runs = "the same"
    parts = (dark.text, runs, f"dark\n{legend}", light_runs, f"light\n{light_legend}")
    return "\n\n----\n\n".join(parts) + "\n"


def words(text: str) -> str:
    """Give a text without lines and bars, which hide where they have the colour of what is behind them."""
    return "\n".join(line.rstrip() for line in text.translate({ord(mark): " " for mark in DRAWN}).split("\n"))


def file_of(name: str, size: tuple[int, int]) -> Path:
    return FOLDER / f"{name}-{size[0]}x{size[1]}.txt"


async def _take(names: list[str]) -> None:
    for name, size in PICTURES:
        if name in names:
            file_of(name, size).write_text(await picture(name, size), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_take(sys.argv[1:] or list(SCENES)))
