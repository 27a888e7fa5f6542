import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.bench.terminal import Child

LETTERS = [chr(code) for code in (*range(0x410, 0x450), *range(0x391, 0x3A2), *range(0x3B1, 0x3C9))]
LONG = 10_000


class Figure(NamedTuple):
    name: str
    value: str
    goal: str
    is_met: bool | None = None


def median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def at_most(name: str, value: float, goal: float, unit: str, digits: int = 1) -> Figure:
    return Figure(name, f"{value:.{digits}f} {unit}", f"<= {goal:g} {unit}", value <= goal)


def start(runs: int = 7) -> Iterator[Figure]:
    bare, ours = list[float](), list[float]()
    for _ in range(runs):
        for kind, kept in (("bare", bare), ("program", ours)):
            with Child(kind) as child:
                kept.append(child.until("painted")["cpu_s"] * 1000)
    floor, cost = min(bare), min(ours)
    yield Figure("first frame, bare Textual app", f"{floor:.0f} ms CPU", "")
    yield Figure("first frame, ours", f"{cost:.0f} ms CPU", "")
    yield at_most("first frame, ours / bare", cost / floor, 1.2, "x", 2)


def session(runs: int = 5) -> Iterator[Figure]:
    bare_cpu, bare_rss, cpu, made, rss = ([] for _ in range(5))
    for _ in range(runs):
        with Child("bare") as child:
            bare_cpu.append(child.until("painted")["cpu_s"] * 1000)
            bare_rss.append(child.rss_mib())
        with Child("program", 0, 0, LONG) as child:
            ready = child.until("ready")
            invented = child.reports["made"]["cpu_s"] - child.reports["corpus"]["cpu_s"]
            cpu.append((ready["cpu_s"] - invented) * 1000)
            made.append(invented * 1000)
            rss.append(child.rss_mib())
    yield Figure("10,000 blocks ready", f"{min(cpu):.0f} ms CPU (+ {min(made):.0f} to invent them)", "")
    yield at_most("10,000 blocks ready / bare first frame", min(cpu) / min(bare_cpu), 3.0, "x", 2)
    yield Figure("RSS with 10,000 blocks", f"{min(rss):.1f} MiB", "")
    yield at_most("RSS with 10,000 blocks / bare", min(rss) / min(bare_rss), 2.0, "x", 2)


def echo() -> Iterator[Figure]:
    with Child("program") as child:
        child.until("ready")
        child.quiet()
        times = type_letters(child, 60, 0.05)
    yield at_most("key echo idle, p50", median(times), 6.0, "ms")
    yield at_most("key echo idle, p95", percentile(times, 0.95), 6.0, "ms")


def type_letters(child: Child, count: int, pause_s: float) -> list[float]:
    times: list[float] = []
    for letter in LETTERS[:count]:
        times.append(child.echo_ms(letter))
        resume = time.perf_counter() + pause_s
        while (left := resume - time.perf_counter()) > 0:
            child.pump(left)
    return times


def idle(seconds: float = 5.0) -> Iterator[Figure]:
    with Child("program") as child:
        child.until("ready")
        child.quiet(1.0)
        yield at_most("RSS at start", child.rss_mib(), 60.0, "MiB")
        cpu, written = child.cpu_s(), child.written
        stop = time.perf_counter() + seconds
        while (left := stop - time.perf_counter()) > 0:
            child.pump(left)
        yield at_most(
            f"idle CPU over {seconds:g} s", 100 * (child.cpu_s() - cpu) / seconds, 0.5, "% of a core", 2
        )
        yield at_most(f"idle output over {seconds:g} s", child.written - written, 0, "bytes", 0)


def stream(
    rate: int = 300, count: int = 3_000, blocks: int = LONG, goal_ms: float = 50.0
) -> Iterator[Figure]:
    with Child("program", count, rate, blocks) as child:
        child.until("turn")
        cpu, began, written = child.cpu_s(), time.perf_counter(), child.written
        times = type_letters(child, 90, 0.06)
        spent, passed = child.cpu_s() - cpu, time.perf_counter() - began
        child.until("streamed")
        total = child.reports["streamed"]["wall_s"] - child.reports["turn"]["wall_s"]
        kib = (child.written - written) / 1024
    name = f"{rate} tok/s, {blocks:,} blocks"
    yield Figure(f"{name}: delivered", f"{count / total:.0f} tok/s", "")
    yield Figure(f"{name}: key echo p50", f"{median(times):.1f} ms", "")
    yield at_most(f"{name}: key echo p95", percentile(times, 0.95), goal_ms, "ms")
    yield Figure(f"{name}: CPU while keys are typed", f"{100 * spent / passed:.0f} % of a core", "")
    yield Figure(f"{name}: written", f"{kib:.0f} KiB", "")


def calm(rate: int = 150, count: int = 1_800) -> Iterator[Figure]:
    with Child("program", count, rate, 1_000) as child:
        first = child.until("turn")
        written = child.written
        last = child.until("streamed")
        cpu = (last["cpu_s"] - first["cpu_s"]) / (last["wall_s"] - first["wall_s"])
        kib = (child.written - written) / 1024
    yield at_most(f"{rate} tok/s, no keys: CPU", 100 * cpu, 13.0, "% of a core")
    yield at_most(f"{count:,} tokens at {rate} tok/s: written", kib, 98.0, "KiB", 0)
    yield from (figure for figure in stream(rate, count, 0, 16.0) if "echo" in figure.name)


def flood(count: int = 20_000, runs: int = 3) -> Iterator[Figure]:
    cpu, wall, rss, echoes = list[float](), list[float](), list[float](), list[float]()
    for number in range(runs):
        with Child("program", count, 0, 0) as child:
            first = child.until("turn")
            if number == 0:
                echoes += type_letters(child, 8, 0.02)
            last = child.until("streamed")
            cpu.append(last["cpu_s"] - first["cpu_s"])
            wall.append(last["wall_s"] - first["wall_s"])
            child.quiet(0.5)
            rss.append(child.rss_mib())
    yield at_most(f"{count:,} tokens flat out: CPU", min(cpu), 1.0, "s", 2)
    yield at_most(f"{count:,} tokens flat out: end visible", min(wall), 0.8, "s", 2)
    yield at_most(f"{count:,} tokens flat out: key echo p95", percentile(echoes, 0.95), 50.0, "ms")
    yield Figure(f"RSS after {count:,} tokens", f"{min(rss):.1f} MiB", "")


def soak(minutes: float = 10.0, rate: int = 300) -> Iterator[Figure]:
    sizes, echoes = list[float](), list[float]()
    turns = int(minutes * 60)
    with Child("program", rate, rate, 2_000, turns) as child:
        child.until("turn")
        stop = time.perf_counter() + minutes * 60 - 5
        number = 0
        while time.perf_counter() < stop:
            echoes.append(child.echo_ms(LETTERS[number % len(LETTERS)]))
            child.write(b"\x15")
            number += 1
            resume = time.perf_counter() + 1.0
            while (left := resume - time.perf_counter()) > 0:
                child.pump(left)
            sizes.append(child.rss_mib())
        child.until("streamed")
        stall = child.reports["streamed"]["longest_ms"]
    half = len(sizes) // 2
    name = f"{minutes:g} min at {rate} tok/s"
    yield Figure(f"{name}: key echo p50 / worst", f"{median(echoes):.1f} / {max(echoes):.0f} ms", "")
    yield at_most(f"{name}: longest turn of the loop (CPU)", stall, 33.0, "ms")
    yield Figure(f"{name}: RSS at half time", f"{sizes[half]:.1f} MiB", "")
    yield at_most(f"{name}: RSS grown since", sizes[-1] - sizes[half], 8.0, "MiB")


def short_soak() -> Iterator[Figure]:
    yield from soak(0.75)


LONG_CASES = ("soak",)
CASES = {
    "start": start,
    "session": session,
    "echo": echo,
    "idle": idle,
    "stream": stream,
    "calm": calm,
    "flood": flood,
    "short-soak": short_soak,
    "soak": soak,
}
