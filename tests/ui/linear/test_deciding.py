import asyncio
from pathlib import Path

from agent_tui.protocol.permissions import Decision, PermissionRequest, Scope, Verdict
from agent_tui.toolkit.context import Question, QuestionOption
from agent_tui.ui.linear.approver import diff_lines
from tests.support.approval_requests import bash_request, edit_request, mixed_round, settled_request
from tests.support.fake_backend import FakeBackend, Step, approve
from tests.support.linear_world import talk


def decisions(verdict: Verdict) -> list[tuple[Decision, Scope]]:
    return [(one.decision, one.scope) for one in verdict.permissions]


def world(tmp_path: Path, *requests: PermissionRequest) -> FakeBackend:
    return FakeBackend(tmp_path, script=[[approve(*requests)]])


async def test_a_round_is_read_out_once_and_answered_in_one_line(tmp_path: Path) -> None:
    backend = world(tmp_path, bash_request("c1", "make a"), bash_request("c2", "make b"))

    async with talk(tmp_path, backend) as here:
        said = await here.answer("go", "Your choice: ")
        assert "Approval: 2 calls wait for your decision.\nCall 1 of 2. " in said
        assert "1. Allow all once\n2. Allow all for this session\n3. Deny all\n" in said
        await here.answer("1", "Done in")

    assert backend.ran == ["c1", "c2"]
    assert said.count("Approval:") == 1
    assert "\a" in said


async def test_each_call_has_an_answer_of_its_own(tmp_path: Path) -> None:
    backend = world(tmp_path, *[bash_request(f"c{n}", f"make {n}") for n in range(1, 5)])

    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Your choice: ")
        await here.answer("4", "Call 1 of 4, ")
        await here.answer("1", "Call 2 of 4, ")
        await here.answer("5", "Call 3 of 4, ")
        await here.answer("6", "Why: ")
        await here.answer("not that one", "Call 4 of 4, ")
        await here.answer("?", "9. Stop the turn and deny all")
        await here.answer("9", "Stopped.")

    assert "The same choices; ? reads them out." in here.said
    assert backend.ran == []


async def test_decisions_with_words_and_scopes_reach_the_core(tmp_path: Path) -> None:
    backend = world(tmp_path, *[bash_request(f"c{n}", f"make {n}") for n in range(1, 4)])

    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Your choice: ")
        await here.answer("4", "Call 1 of 3, ")
        await here.answer("1", "Call 2 of 3, ")
        await here.answer("6", "Why: ")
        await here.answer("not that one", "Call 3 of 3, ")
        await here.answer("5", "Done in")

    verdicts = backend.verdicts[0]
    assert backend.ran == ["c1"]
    assert decisions(verdicts["c1"]) == [(Decision.ALLOW, Scope.ONCE)]
    assert verdicts["c2"].feedback == "not that one"
    assert decisions(verdicts["c3"]) == [(Decision.DENY, Scope.ONCE)]


async def test_one_call_can_be_allowed_for_the_session(tmp_path: Path) -> None:
    backend = world(tmp_path, bash_request("c1", "make 1"))

    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Your choice: ")
        await here.answer("2", "Done in")

    (decision,) = backend.verdicts[0]["c1"].permissions
    assert (decision.decision, decision.scope) == (Decision.ALLOW, Scope.SESSION)
    assert decision.pattern


async def test_a_high_risk_call_is_never_allowed_with_the_others(tmp_path: Path) -> None:
    high = next(one for one in mixed_round() if any(p.risk.value == "high" for p in one.permissions))
    backend = world(tmp_path, bash_request("c0", "make"), high)

    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Your choice: ")
        await here.answer("1", "1 call must be decided alone")
        await here.answer("5", "Done in")

    assert "high risk" in here.said
    assert backend.ran == ["c0"]


async def test_what_is_too_long_to_be_read_out_is_allowed_only_after_it_was(tmp_path: Path) -> None:
    backend = world(tmp_path, bash_request("c1", "\n".join(f"echo {n}" for n in range(60))))

    async with talk(tmp_path, backend) as here:
        said = await here.answer("go", "Your choice: ")
        assert "more lines are not read out here." in said
        await here.answer("1", "Read it in full first.")
        assert "echo 59" in await here.answer("8", "echo 59")
        await here.answer("1", "Done in")

    assert backend.ran == ["c1"]


async def test_an_empty_line_denies(tmp_path: Path) -> None:
    backend = world(tmp_path, bash_request("c1", "make"))

    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Your choice: ")
        await here.answer("", "All denied.")
        await here.until("Done in")

    assert backend.ran == []


async def test_ctrl_c_during_a_review_denies_and_stops(tmp_path: Path) -> None:
    backend = world(tmp_path, bash_request("c1", "make"))

    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Your choice: ")
        here.program._interrupt()
        await here.until("Stopped.")

    assert backend.ran == []
    assert "cancel_turn" in backend.calls


async def test_a_line_typed_before_the_question_is_no_answer(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def wait(_backend: FakeBackend) -> None:
        await gate.wait()

    backend = FakeBackend(tmp_path, script=[[wait, approve(bash_request("c1", "make"))]])
    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Working.")
        here.type("1")  # not ended: it waits in the terminal when the question comes
        gate.set()
        await here.until("Your choice: ")
        await here.answer("5", "Done in")

    assert backend.ran == []


async def test_calls_that_rules_settled_are_told_beside_the_others(tmp_path: Path) -> None:
    settled = settled_request("r1", "README.md", rule="built-in: inside the project")
    steps: list[Step] = [approve(bash_request("c1", "make"), settled=[settled], order=["r1", "c1"])]

    async with talk(tmp_path, FakeBackend(tmp_path, script=[steps])) as here:
        said = await here.answer("go", "Your choice: ")
        assert "Beside it, " in said
        assert "README.md runs: built-in: inside the project" in said
        await here.answer("3", "Done in")


async def test_questions_of_the_model_are_numbered_choices(tmp_path: Path) -> None:
    options = (QuestionOption(label="Red", description="warm"), QuestionOption(label="Blue"))

    async def ask(backend: FakeBackend) -> None:
        questions = [
            Question(question="Which colour?", options=options),
            Question(question="Which ones?", options=options, multiple=True),
            Question(question="Why?"),
        ]
        backend.answers.append(await backend.ask(questions))

    backend = FakeBackend(tmp_path, script=[[ask]])
    async with talk(tmp_path, backend) as here:
        said = await here.answer("go", "Your choice: ")
        assert "Question 1 of 3: Which colour?\n1. Red: warm\n2. Blue\n3. Something else\n" in said
        await here.answer("nine", "Write a number from 1 to 3")
        await here.answer("2", "Question 2 of 3")
        await here.answer("1, 3", "Your own words: ")
        await here.answer("green", "Question 3 of 3")
        await here.answer("because", "Done in")

    assert backend.answers == [[["Blue"], ["Red", "green"], ["because"]]]


async def test_an_empty_line_declines_the_questions(tmp_path: Path) -> None:
    async def ask(backend: FakeBackend) -> None:
        backend.answers.append(await backend.ask([Question(question="Why?")]))

    backend = FakeBackend(tmp_path, script=[[ask]])
    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Your answer: ")
        await here.answer("", "No answer was given.")

    assert backend.answers == [None]


async def test_what_rules_settled_is_told_beside_its_own_review(tmp_path: Path) -> None:
    rounds = [
        ([bash_request(f"c{n}", f"make {n}")], [settled_request(f"r{n}", f"{n}.md", rule=f"rule {n}")])
        for n in (1, 2)
    ]

    async def both(backend: FakeBackend) -> None:
        async with asyncio.TaskGroup() as group:
            for requests, settled in rounds:
                order = [one.call_id for one in (*settled, *requests)]
                group.create_task(backend.round(requests, settled=settled, order=order))

    async with talk(tmp_path, FakeBackend(tmp_path, script=[[both]])) as here:
        first = await here.answer("go", "Your choice: ")
        second = await here.answer("1", "Your choice: ")
        await here.answer("1", "Done in")

    assert "rule 1" in first
    assert "rule 2" not in first
    assert "rule 2" in second


async def test_always_stores_no_more_than_what_was_read_out(tmp_path: Path) -> None:
    backend = FakeBackend(Path("/proj"), script=[[approve(edit_request("c1", "src/a/x.py"))]])

    async with talk(Path("/proj"), backend) as here:
        said = await here.answer("go", "Your choice: ")
        await here.answer("3", "Done in")

    assert "Always would store Edit(/src/a/x.py)." in said
    assert backend.verdicts[0]["c1"].permissions[0].pattern == "Edit(/src/a/x.py)"


def test_changed_lines_that_look_like_the_heads_of_files_are_read_as_changes() -> None:
    diff = (
        "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,3 @@\n--- drop it\n+++ counter;\n"
        "+-- keep it\n select 1;\n\\ No newline at end of file\n"
    )

    assert diff_lines(diff) == [
        "Old file: a/q.sql",
        "New file: b/q.sql",
        "At -1,2 +1,3",
        "Removed: -- drop it",
        "Added: ++ counter;",
        "Added: -- keep it",
        "Same: select 1;",
    ]


async def test_the_end_of_the_input_denies_as_unasked_and_an_empty_line_as_the_person(tmp_path: Path) -> None:
    for requests in ([bash_request("c1")], [bash_request("c1", "make a"), bash_request("c2", "make b")]):
        for typed, unasked in (("\x04", True), ("\n", False)):
            backend = world(tmp_path, *requests)
            async with talk(tmp_path, backend) as here:
                await here.answer("go", "Your choice: ")
                here.type(typed)
                await here.until(lambda backend=backend: backend.verdicts)

            assert {verdict.unasked for verdict in backend.verdicts[0].values()} == {unasked}


async def test_a_program_that_is_told_to_end_denies_as_unasked(tmp_path: Path) -> None:
    class Answering(FakeBackend):
        def cancel_turn(self) -> None:
            """Let the open question be answered before the turn ends."""

    backend = Answering(tmp_path, script=[[approve(bash_request("c1"))]])
    async with talk(tmp_path, backend) as here:
        await here.answer("go", "Your choice: ")
        here.program._leave(143)
        await here.until(lambda: backend.verdicts)

    assert backend.verdicts[0]["c1"].unasked
