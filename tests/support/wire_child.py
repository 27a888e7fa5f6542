from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.render.safe import install
from tests.support.transcript_host import Host, panel

ATTACK = (
    "ok\x1b]52;c;ZXZpbA==\x07\x1b]0;pwn\x07\x1b[2J\x1b[6n\x1b[10A\x1bPq\x1b\\\x1b]8;;http://evil\x07x\x1b]8;;\x07"
    "\x9b31m\x1bc\x1b[?2004h\x1b[?1049l\u202eRLO\x00\x08\x7f"
)


def blocks() -> list[ReplayBlock]:
    kinds = ("plain_text", "code", "terminal", "markdown", "auto", "diff")
    bodies = {"diff": f"--- a/{ATTACK}\n+++ b/x\n@@ -1 +1 @@\n-{ATTACK}\n+y{ATTACK}\n"}
    made = [
        panel(
            f"{kind}{ATTACK}",
            bodies.get(kind, ATTACK),
            state="error",
            content_type=kind,
            title=ATTACK,
            path=ATTACK,
        )
        for kind in kinds
    ]
    made += [
        ReplayBlock("user", ATTACK),
        ReplayBlock("thinking", ATTACK),
        ReplayBlock("notice", ATTACK),
        ReplayBlock("decision", ATTACK),
        ReplayBlock(
            "assistant",
            f"{ATTACK} [a](http://e\x1b]0;x\x07) `{ATTACK}` &#27;]0;x&#7;\n\n```{ATTACK}\n{ATTACK}\n```\n",
        ),
    ]
    return made


class WireHost(Host):
    def on_mount(self) -> None:
        super().on_mount()
        index = self.transcript.stream_start("assistant")
        for char in ATTACK:
            self.transcript.stream_append(index, char)
        self.transcript.search("ok")
        self.set_timer(0.4, self.quit_later)

    def quit_later(self) -> None:
        self.transcript.go_home()
        self.set_timer(0.3, self.exit)


if __name__ == "__main__":
    install()
    WireHost(blocks()).run()
