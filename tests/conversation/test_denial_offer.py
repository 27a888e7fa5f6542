import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_tui.conversation.denial_offer import NO, ONCE, DenialOffers
from agent_tui.conversation.rules import SessionRules
from agent_tui.protocol.permissions import PermissionRequest, Verdict
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.sandbox.granted import GrantedSandbox
from agent_tui.sandbox.interface import Confinement, Launch, NoSandbox, Profile
from agent_tui.toolkit.context import Question
from agent_tui.toolkit.testing import make_context

COMMAND = "make install"


class Recording(NoSandbox):
    """Keeps with what confinement each command was launched."""

    def __init__(self) -> None:
        super().__init__()
        self.launched: list[Confinement] = []

    def launch(self, argv: Sequence[str], *, confinement: Confinement, **more: Any) -> Launch:
        self.launched.append(confinement)
        return super().launch(argv, confinement=confinement, **more)


@dataclass
class Ledger:
    """A policy that only writes down, or cannot."""

    broken: bool = False
    lines: list[tuple[PermissionRequest, Verdict]] = field(default_factory=list)

    async def record(self, request: PermissionRequest, verdict: Verdict) -> None:
        if self.broken:
            raise OSError("no space")
        self.lines.append((request, verdict))


class NoRules:
    """A policy without a rule."""

    def rules(self) -> Sequence[object]:
        return []

    async def remove(self, rule_id: str) -> None:
        return None


class Person:
    """Chooses the option that begins with `choice`; None closes the question."""

    def __init__(self, choice: str | None) -> None:
        self.choice = choice
        self.asked: list[Question] = []

    async def __call__(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        self.asked += questions
        if self.choice is None:
            return None
        labels = [option.label for option in questions[0].options]
        return [[next((label for label in labels if label.startswith(self.choice)), self.choice)]]


class Place:
    def __init__(self, root: Path, person: Person | None, *, broken: bool = False) -> None:
        self.outside = root / "outside"
        self.outside.mkdir()
        self.inner, self.ledger, self.refused = Recording(), Ledger(broken), list[str]()
        self.sandbox = GrantedSandbox(self.inner)
        workspace = root / "project"
        workspace.mkdir()
        self.ctx = make_context(workspace)
        self.offers = DenialOffers(
            sandbox=self.sandbox,
            policy=self.ledger,
            ask=lambda: person,
            refused=lambda: self.refused,
            home=root / "home",
            own=[root / "own"],
        )

    async def fail(self, output: str, *, command: str = COMMAND, refused: Sequence[str] = ()) -> str:
        call = ToolCall(call_id="c", name="bash", arguments_json=json.dumps({"command": command}))
        await self.offers.before(call, self.ctx)
        self.refused += refused
        result = ToolResult(output=output, is_error=True, data={"exit_code": 1})
        return (await self.offers.after(call, result, self.ctx)).context

    def run(self, command: str = COMMAND, profile: Profile = Profile.WORKSPACE) -> Confinement:
        argv = ["/bin/bash", "-c", command]
        self.sandbox.launch(argv, cwd=self.ctx.cwd, confinement=Confinement(profile=profile), env={})
        return self.inner.launched[-1]

    @property
    def read_only(self) -> str:
        return f"install: cannot create '{self.outside}/x': Read-only file system"


async def test_the_first_choice_is_no_and_changes_nothing(tmp_path: Path) -> None:
    person = Person(NO)
    place = Place(tmp_path, person)

    told = await place.fail(place.read_only)

    assert person.asked[0].options[0].label == NO
    assert COMMAND in person.asked[0].details
    assert "keeps it as it is" in told
    assert place.run() == Confinement()
    assert place.ledger.lines == []


@pytest.mark.parametrize("answer", [None, "do it yourself"])
async def test_no_choice_and_words_of_ones_own_are_a_no(tmp_path: Path, answer: str | None) -> None:
    place = Place(tmp_path, Person(answer))

    told = await place.fail(place.read_only)

    assert "keeps it as it is" in told
    assert (answer or "") in told
    assert place.run() == Confinement()


async def test_a_folder_is_opened_for_the_session_and_written_down(tmp_path: Path) -> None:
    place = Place(tmp_path, Person(f"Let commands write in {tmp_path}"))

    told = await place.fail(place.read_only)

    assert "was not run again" in told
    assert place.run().write_dirs == (place.outside,)
    assert place.run(profile=Profile.READ_ONLY) == Confinement(profile=Profile.READ_ONLY)
    assert [request.permissions[0].target for request, _ in place.ledger.lines] == [str(place.outside)]
    place.sandbox.forget()
    assert place.run() == Confinement()


async def test_a_host_is_opened_for_the_session_and_no_other(tmp_path: Path) -> None:
    place = Place(tmp_path, Person("Let commands reach good.example"))

    await place.fail("curl: (56) CONNECT tunnel failed", refused=["good.example", "other.example"])

    assert place.run().hosts == ("good.example",)


async def test_hosts_refused_before_the_command_are_not_offered(tmp_path: Path) -> None:
    person = Person(NO)
    place = Place(tmp_path, person)
    place.refused.append("earlier.example")

    await place.fail("curl: (56) CONNECT tunnel failed", refused=["now.example"])

    labels = [option.label for option in person.asked[0].options]
    assert [label for label in labels if "example" in label] == [
        "Let commands reach now.example for this session"
    ]


async def test_once_is_once_and_for_the_same_bytes(tmp_path: Path) -> None:
    place = Place(tmp_path, Person(ONCE))

    await place.fail(place.read_only)

    assert place.run(f"{COMMAND} ").profile is Profile.WORKSPACE
    assert place.run().profile is Profile.OFF
    assert place.run().profile is Profile.WORKSPACE


async def test_what_was_opened_is_listed_among_the_rules_and_can_be_taken_back(tmp_path: Path) -> None:
    place = Place(tmp_path, Person(f"Let commands write in {tmp_path}"))
    await place.fail(place.read_only)
    rules = SessionRules(NoRules(), place.sandbox)

    [view] = rules.views()

    assert (view.decision, view.scope, view.removable) == ("allow", "session", True)
    assert str(place.outside) in view.text
    assert "Taken back" in await rules.remove(view.rule_id)
    assert rules.views() == []
    assert place.run() == Confinement()
    assert "No grant has the id" in await rules.remove(view.rule_id)


async def test_the_same_command_is_offered_once(tmp_path: Path) -> None:
    person = Person(NO)
    place = Place(tmp_path, person)

    await place.fail(place.read_only)
    assert await place.fail(place.read_only) == ""
    await place.fail(place.read_only, command="make all")

    assert len(person.asked) == 2


async def test_what_cannot_be_written_down_does_not_count(tmp_path: Path) -> None:
    place = Place(tmp_path, Person(ONCE), broken=True)

    told = await place.fail(place.read_only)

    assert "does not count" in told
    assert place.run().profile is Profile.WORKSPACE


async def test_with_nobody_to_ask_nothing_is_offered(tmp_path: Path) -> None:
    place = Place(tmp_path, None)

    assert await place.fail(place.read_only) == ""
    assert place.run() == Confinement()


async def test_words_of_the_command_are_text_and_never_markup(tmp_path: Path) -> None:
    person = Person(NO)
    place = Place(tmp_path, person)

    await place.fail(f"```\n[@click=quit]x[/] {place.read_only}", command="x ```` y")

    assert "`````text\nx ```` y\n`````" in person.asked[0].details


@pytest.mark.parametrize("data", [{}, {"exit_code": 0}, {"exit_code": None}])
async def test_a_command_that_did_not_fail_is_left_alone(tmp_path: Path, data: Mapping[str, Any]) -> None:
    person = Person(NO)
    place = Place(tmp_path, person)
    call = ToolCall(call_id="c", name="bash", arguments_json=json.dumps({"command": COMMAND}))

    after = await place.offers.after(call, ToolResult(output=place.read_only, data=dict(data)), place.ctx)

    assert after.context == ""
    assert person.asked == []
