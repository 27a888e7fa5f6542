import asyncio
import gc
import json
import os
import sys
import time
from pathlib import Path

FD = int(os.environ.get("BENCH_FD", "2"))
KIND = sys.argv[1]
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 0
RATE = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
BLOCKS = int(sys.argv[4]) if len(sys.argv) > 4 else 0
TURNS = int(sys.argv[5]) if len(sys.argv) > 5 else 1


def report(what: str, **facts: float) -> None:
    line = {"what": what, "cpu_s": time.process_time(), "wall_s": time.perf_counter(), **facts}
    os.write(FD, (json.dumps(line) + "\n").encode())


def bare() -> None:
    from textual.app import App, ComposeResult
    from textual.widgets import Static, TextArea

    class Bare(App[None]):
        CSS = "Static { height: 1fr; } TextArea { height: 3; }"

        def compose(self) -> ComposeResult:
            yield Static("hello")
            yield TextArea()

        def on_mount(self) -> None:
            self.query_one(TextArea).focus()
            self.call_after_refresh(report, "painted")

    Bare().run()


def watch_turns() -> list[float]:
    """Measure the CPU of each turn of the event loop, collector included; the list holds the longest one."""
    longest = [0.0]
    run = asyncio.Handle._run

    def measured(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        longest[0] = max(longest[0], time.thread_time() - began)

    asyncio.Handle._run = measured  # the only place that sees every turn
    return longest


def program() -> None:
    gc.disable()
    longest = watch_turns()
    from agent_tui.ui.lean import compile_dataclasses_late, import_textual_lean

    compile_dataclasses_late()
    import_textual_lean()
    import agent_tui.ui.app
    from agent_tui.ui.app import AgentApp

    async def load() -> object:
        from agent_tui.protocol.events import AssistantFinished, TextDelta
        from agent_tui.protocol.messages import AssistantMessage, TextBlock
        from tests.bench.corpus import blocks, tokens
        from tests.support.fake_backend import FakeBackend

        class Streaming(FakeBackend):
            async def _play(self, steps: object) -> None:
                report("turn")
                for number in range(TURNS):
                    await self._reply()
                    if number == 0:  # what the first reply imports is no stall of a long life
                        longest[0] = 0.0
                stalled = longest[0] * 1000
                app.call_after_refresh(lambda: report("streamed", longest_ms=stalled))

            async def _reply(self) -> None:
                text: list[str] = []
                due = time.perf_counter()
                for number, token in enumerate(tokens(COUNT)):
                    text.append(token)
                    await self.emit(TextDelta(turn_id="t", text=token))
                    if RATE:
                        due += 1 / RATE
                        await asyncio.sleep(max(0.0, due - time.perf_counter()))
                    elif number % 50 == 49:
                        await asyncio.sleep(0)
                message = AssistantMessage(content=(TextBlock(text="".join(text)),))
                await self.emit(AssistantFinished(turn_id="t", message=message))
                while app.transcript.document.dirty:
                    await asyncio.sleep(0.005)
                app.collector.turn_ended()

        report("corpus")
        made = blocks(BLOCKS)
        report("made")
        return Streaming(Path.cwd(), blocks=made)

    class Measured(AgentApp):
        CSS_PATH = Path(agent_tui.ui.app.__file__).with_name("app.tcss")

        def on_mount(self) -> None:
            self.call_after_refresh(report, "painted")

        async def _welcome(self, backend: object) -> None:
            report("linked")
            await super()._welcome(backend)
            self.call_after_refresh(report, "ready")

    app = Measured(load, initial_prompt="go" if COUNT else "")
    app.run()


if __name__ == "__main__":
    bare() if KIND == "bare" else program()
