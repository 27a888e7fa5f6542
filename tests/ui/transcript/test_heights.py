import random

from agent_tui.ui.transcript.cache import Bounded
from agent_tui.ui.transcript.heights import Heights


def test_sums_and_places_equal_a_plain_list_after_random_changes() -> None:
    chance = random.Random(3)
    plain = [chance.randrange(6) for _ in range(300)]
    heights = Heights(plain)
    for _ in range(2_000):
        if chance.random() < 0.2:
            value = chance.randrange(9)
            plain.append(value)
            heights.append(value)
        else:
            index, value = chance.randrange(len(plain)), chance.randrange(9)
            grown = value - plain[index]
            plain[index] = value
            assert heights.set(index, value) == grown
        index = chance.randrange(len(plain) + 1)
        assert heights.before(index) == sum(plain[:index])
        assert heights.total == sum(plain)
        row = chance.randrange(max(1, sum(plain)))
        block, inside = heights.find(row)
        assert sum(plain[:block]) + inside == row
        assert 0 <= inside < plain[block]


def test_rows_outside_give_the_nearest_place() -> None:
    heights = Heights([2, 3])

    assert heights.find(-5) == (0, 0)
    assert heights.find(99) == (1, 2)
    assert Heights().find(3) == (0, 0)


def test_a_cache_forgets_what_was_not_used_for_longest() -> None:
    cache: Bounded[str, int] = Bounded(10, cost=lambda value: value)
    cache.put("a", 4)
    cache.put("b", 4)
    cache.get("a")
    cache.put("c", 4)

    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (4, None, 4)
    assert cache.spent == 8


def test_a_cache_keeps_the_newest_entry_whatever_it_costs() -> None:
    cache: Bounded[str, int] = Bounded(10, cost=lambda value: value)
    cache.put("a", 4)
    cache.put("big", 99)

    assert cache.get("big") == 99
    assert len(cache) == 1
