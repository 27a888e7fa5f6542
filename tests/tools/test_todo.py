from typing import Any

import pytest
from pydantic import ValidationError

from agent_tui.toolkit.context import TodoItem
from tests.support.file_world import FileWorld


def todo(content: str, status: str = "pending", priority: str = "medium") -> dict[str, str]:
    return {"content": content, "status": status, "priority": priority}


def test_h50_list_is_replaced_as_a_whole(files: FileWorld) -> None:
    files.run("todowrite", todos=[todo("a"), todo("b")])
    result = files.run("todowrite", todos=[todo("c", "completed", "high")])

    assert files.ctx.todos.items == (TodoItem(content="c", status="completed", priority="high"),)
    assert "1 item" in result.output


def test_h50_item_70_second_item_in_progress_leaves_the_old_list(files: FileWorld) -> None:
    files.run("todowrite", todos=[todo("a", "in_progress")])

    result = files.run("todowrite", todos=[todo("b", "in_progress"), todo("c", "in_progress")])

    assert result.is_error
    assert [item.content for item in files.ctx.todos.items] == ["a"]


@pytest.mark.parametrize(
    "bad", [todo("a", "done"), todo("a", priority="urgent"), {"status": "pending"}, todo("")]
)
def test_h51_unknown_word_is_refused(bad: dict[str, str], files: FileWorld) -> None:
    with pytest.raises(ValidationError):
        files.run("todowrite", todos=[bad])


def test_h51_every_status_has_its_icon_and_medium_no_tag(files: FileWorld) -> None:
    statuses = ("pending", "in_progress", "completed", "cancelled", "failed", "blocked")
    priorities = ("critical", "high", "medium", "low", "medium", "medium")
    todos = [todo(f"t{n}", s, p) for n, (s, p) in enumerate(zip(statuses, priorities, strict=True))]
    arguments: dict[str, Any] = {"todos": todos}

    shown = files.shown("todowrite", files.run("todowrite", **arguments), **arguments)

    lines = shown.content.split("\n")
    assert len({line.split(" ")[0] for line in lines}) == 6
    assert [line.partition("[")[2].rstrip("]") for line in lines] == ["critical", "high", "", "low", "", ""]
    assert shown.summary == "1 of 6 done"


def test_h52_read_gives_the_list(files: FileWorld) -> None:
    assert files.run("todoread").output == "No todos"
    files.run("todowrite", todos=[todo("a"), todo("b", "completed")])

    assert files.run("todoread").output == "☐ a\n☑ b"


def test_a50_summary_counts_items(files: FileWorld) -> None:
    tool = files.tools["todowrite"]
    params = tool.params_type(todos=[todo("a"), todo("b")])

    assert (
        tool.compact_summary(params, files.run("todowrite", todos=[todo("a"), todo("b")]))
        == "[todowrite: 2 items]"
    )
