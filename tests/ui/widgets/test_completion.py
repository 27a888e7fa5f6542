from pathlib import Path

from tests.support.screens import stage


async def test_a_list_that_is_behind_the_text_never_replaces_it(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.type("/tr")
        await here.until(lambda: here.app.completion.is_open)
        prompt = here.app.prompt

        prompt.insert("ust revoke")  # faster than the news of it
        taken = here.app.completion.handle("submit")

        assert taken is False
        assert prompt.text == "/trust revoke"


async def test_a_list_that_is_behind_the_text_is_made_anew_before_a_choice(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.type("/t")
        await here.until(lambda: here.app.completion.is_open)

        here.app.prompt.insert("ru")
        assert here.app.completion.handle("complete") is True

        assert here.app.prompt.text.strip() == "/trust"


async def test_a_list_of_commands_never_stands_for_an_argument(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.type("/eff")
        await here.until(lambda: here.app.completion.is_open)
        prompt = here.app.prompt

        prompt.insert("ort high")  # its arguments are looked up beside; the list of commands still stands
        taken = here.app.completion.handle("submit")

        assert taken is False
        assert prompt.text == "/effort high"


async def test_a_list_of_files_that_is_behind_the_text_replaces_nothing(workspace: Path) -> None:
    for name in ("alpha.py", "beta.py"):
        (workspace / name).touch()
    async with stage(workspace) as here:
        await here.type("@al")
        await here.until(lambda: here.app.completion.is_open)
        prompt = here.app.prompt

        prompt.replace("@beta.py", (0, 0), (0, 3))
        assert here.app.completion.handle("complete") is True
        assert prompt.text == "@beta.py"
        assert here.app.completion.handle("submit") is False
        assert prompt.text == "@beta.py"


async def test_one_enter_completes_the_argument_of_every_command_and_sends_it(workspace: Path) -> None:
    sent: list[tuple[str, str]] = []
    async with stage(workspace) as here:
        here.app.actions.submit_command = (  # what would run is not the question
            lambda command, word, args: sent.append((word, args))
        )
        tried: list[tuple[str, str]] = []
        for command in here.app.registry.all():
            if command.complete is None or command.name == "config":  # its words need settings files
                continue
            names = await command.complete(here.app.actions, "")
            for name in list(names)[:1]:
                await here.until(lambda: not here.app.completion.is_open)  # of the command before
                here.app.prompt.put(f"/{command.name} {name[:-1]}")
                await here.until(
                    lambda name=name: here.app.completion.is_open and name in here.app.completion.texts
                )
                here.app.completion.move_to(here.app.completion.texts.index(name))
                await here.press("enter")
                tried.append((command.name, name))

    assert len(tried) > 10
    assert sent == tried
