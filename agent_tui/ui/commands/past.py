"""The slash commands that go back in a session, show its changes, copy and write it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.changes import SCOPES, ChangeView
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.talk import agreed
from agent_tui.ui.past import MoveView, PointView
from agent_tui.ui.screens.picker import Choice
from agent_tui.ui.talk import Side

_SHOWN_NAMES = 8
_PICTURES = ("svg", "png")


async def _rewind(host: CommandHost, _args: str) -> None:
    points = [point for point in await host.backend.past.points() if point.active]
    chosen = await host.pick("Rewind to before", _choices(points[::-1]), empty="Nothing was said yet.")
    if chosen is None:
        return
    changes = await host.backend.past.preview(chosen)
    files = _files(len(changes))
    what = await host.pick(
        "What goes back",
        [
            Choice("both", "Conversation and files", f"{files} would change"),
            Choice("conversation", "Conversation", "files stay as they are"),
            Choice("files", "Files", f"{files} would change"),
            Choice("from", "Summarise from here", "a summary takes the place of it and what followed"),
            Choice("before", "Summarise up to here", "a summary takes the place of what was said before"),
            *([Choice("show", "Show the changes", "nothing goes back")] if changes else []),
        ],
    )
    if what == "show":
        await host.view(_block("Rewind", changes))
        await _rewind(host, "")
    elif what == "from" or what == "before":
        await _summarise(host, chosen, what)
    elif what is not None:
        await _go_back(host, chosen, changes, conversation=what != "files", files=what != "conversation")


async def _summarise(host: CommandHost, entry_id: str, side: Side) -> None:
    """Put a summary that the person agreed to in the place of a part of the conversation; files stay."""
    talk = host.backend.talk
    draft = await host.drafting(talk.draft_part(entry_id, side))
    if not draft.text:
        host.notice("warning", draft.problem)
        return
    text = await agreed(host, draft.text, "This summary would take the place of that part")
    if text:
        host.notice("info", await talk.compact_part(entry_id, side, text))
        host.refresh_status()


async def _go_back(
    host: CommandHost,
    entry_id: str,
    changes: Sequence[ChangeView],
    *,
    conversation: bool = True,
    files: bool = True,
) -> None:
    allowed = await _allowed(host, changes) if files else []
    if allowed is None:
        return
    moved = await host.backend.past.rewind(entry_id, conversation=conversation, files=files, allowed=allowed)
    await _show_move(host, moved, await host.backend.past.uncovered() if files else ())


async def _allowed(host: CommandHost, changes: Sequence[ChangeView]) -> list[str] | None:
    """Ask about files that somebody else changed; give those that may be overwritten, None when nothing should go."""
    conflicts = [change for change in changes if change.conflict]
    while conflicts:
        names = ", ".join(change.path for change in conflicts[:_SHOWN_NAMES])
        answer = await host.pick(
            f"{_files(len(conflicts))} changed meanwhile, not by the agent",
            [
                Choice("keep", "Leave them as they are", names),
                Choice("show", "Show the differences"),
                Choice("take", "Put them back too", "what is there now can be brought back with /redo"),
            ],
        )
        match answer:
            case "keep":
                return []
            case "take":
                return [change.path for change in conflicts]
            case "show":
                await host.view(_block("Would change", conflicts))
            case _:
                return None
    return []


async def _undo(host: CommandHost, _args: str) -> None:
    points = [point for point in await host.backend.past.points() if point.active]
    if not points:
        host.notice("info", "There is nothing to undo.")
        return
    last = points[-1].entry_id
    await _go_back(host, last, await host.backend.past.preview(last))


async def _redo(host: CommandHost, _args: str) -> None:
    changes = await host.backend.past.preview_redo()
    if changes is None:
        host.notice("info", "There is nothing to redo.")
        return
    allowed = await _allowed(host, changes)
    moved = await host.backend.past.redo(allowed=allowed) if allowed is not None else None
    if moved is not None:
        await _show_move(host, moved, [])


async def _show_move(host: CommandHost, moved: MoveView, uncovered: Sequence[str]) -> None:
    if moved.conversation:
        await host.reload()
    said = moved.said
    if uncovered:
        names = ", ".join(uncovered[:_SHOWN_NAMES]) + (" ..." if len(uncovered) > _SHOWN_NAMES else "")
        said += f" Too large to be covered, so they stayed: {names}."
    host.notice("info", said)
    if moved.prompt:
        host.compose_prompt(moved.prompt)


async def _tree(host: CommandHost, args: str) -> None:
    verb, _, rest = args.partition(" ")
    points = await host.backend.past.points()
    if verb == "label":
        active = [point for point in points if point.active]
        if not active:
            host.notice("info", "Nothing was said yet.")
            return
        await host.backend.past.label(active[-1].entry_id, rest.strip())
        host.notice("info", f"The last prompt is called {rest.strip()!r}." if rest.strip() else "No label.")
        return
    chosen = await host.pick("Conversation tree", _choices(points, tree=True), empty="Nothing was said yet.")
    point = next((p for p in points if p.entry_id == chosen), None)
    if point is None:
        return
    if point.active:
        await _go_back(host, point.entry_id, [], files=False)
    else:
        await _show_move(host, await host.backend.past.go_to(point.entry_id), [])


async def _fork(host: CommandHost, args: str) -> None:
    entry_id = ""
    if args:
        points = await host.backend.past.points()
        found = [
            p.entry_id for p in points if args in (p.label, p.entry_id) or args.lower() in p.title.lower()
        ]
        if not found:
            host.notice("warning", f"No prompt of this session is called {args!r}.")
            return
        entry_id = found[-1]
    copy = await host.backend.past.fork(entry_id)
    await host.open_session(copy)
    host.notice("info", f"This is a copy, {copy}; the session it was made from is kept as it is.")


async def _diff(host: CommandHost, args: str) -> None:
    for scope in SCOPES:
        if (args or "turn") == scope:
            await host.show_changes(scope)
            return
    host.notice("warning", f"There is no /diff {args}; write /diff turn, /diff session or /diff branch.")


async def _export(host: CommandHost, args: str) -> None:
    kind, _, path = args.partition(" ")
    if "." in kind and not path:
        kind, path = kind.rpartition(".")[2], kind
    past, path = host.backend.past, path.strip()
    if kind in _PICTURES:
        host.notice("info", await past.export_picture(kind, path, host.picture()))
    else:
        host.notice("info", await past.export(kind, path))


async def _pending(host: CommandHost, _args: str) -> None:
    if host.backend.waits:
        host.go_on()
    else:
        host.notice("info", "No call waits for an approval.")


async def _scopes(_host: CommandHost, _typed: str) -> Sequence[str]:
    return SCOPES


async def _formats(_host: CommandHost, _typed: str) -> Sequence[str]:
    return ("md", "html", "json", *_PICTURES)


def past_commands() -> list[Command]:
    """Give the commands, in the order of the list."""
    return [
        Command(
            "rewind",
            "go back to before a prompt: conversation, files or both; or summarise from or up to there",
            _rewind,
            aliases=("checkpoint", "checkpoints"),
        ),
        Command("undo", "take back the last prompt with what it did to the files", _undo),
        Command("redo", "bring back what was undone", _redo),
        Command("tree", "all branches of the conversation", _tree, usage="[label TEXT]"),
        Command(
            "fork", "go on in a copy of this session", _fork, aliases=("branch",), usage="[before PROMPT]"
        ),
        Command(
            "diff",
            "what changed in the files; take parts back, comment on lines",
            _diff,
            aliases=("changes",),
            usage="[turn | session | branch]",
            while_busy=True,
            complete=_scopes,
        ),
        Command(
            "export",
            "write the session, or a picture of the screen, to a file",
            _export,
            aliases=("save", "share"),
            usage="[md | html | json | svg | png] [path]",
            while_busy=True,
            complete=_formats,
        ),
        Command("pending", "decide about calls that wait from before", _pending),
    ]


def _choices(points: Sequence[PointView], *, tree: bool = False) -> list[Choice]:
    return [
        Choice(
            point.entry_id,
            f"{'  ' * min(point.depth, 12) if tree else ''}{point.title}",
            " · ".join(filter(None, (point.label, _when(point.at), "" if point.active else "other branch"))),
        )
        for point in points
    ]


def _when(at: float) -> str:
    return time.strftime("%d %b %H:%M", time.localtime(at)) if at else ""


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _block(title: str, changes: Sequence[ChangeView]) -> ReplayBlock:
    text = "".join(change.diff for change in changes)
    return ReplayBlock(
        kind="tool",
        text=text,
        display_name=title,
        title=_files(len(changes)) if len(changes) != 1 else changes[0].path,
        content_type="diff",
        full_length=len(text),
        full_lines=text.count("\n"),
    )
