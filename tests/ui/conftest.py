import pytest
from textual import pilot

from tests.support.patience import at_rest


@pytest.fixture(autouse=True)
def _pause_until_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's pause ends when the process uses no processor, which is also so when others have it all."""
    looks_idle = pilot.wait_for_idle

    async def idle(min_sleep: float = 0.02, max_sleep: float = 1.0) -> None:
        await looks_idle(min_sleep, max_sleep)
        await at_rest()

    monkeypatch.setattr(pilot, "wait_for_idle", idle)
