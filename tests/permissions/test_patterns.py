from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.permissions.patterns import (
    PathPatterns,
    compile_command,
    host_matches,
    path_pattern,
    quoted_star,
)


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("ls *", "ls -la", True),
        ("ls *", "ls", True),
        ("ls *", "lsof", False),
        ("ls*", "lsof", True),
        ("git diff *", "git diff HEAD", True),
        ("git diff *", "git difftool", False),
        ("git * main", "git push origin main", True),
        ("npm test", "npm test", True),
        ("npm test", "npm test x", False),
        (r"ls \*", "ls *", True),
        (r"ls \*", "ls a", False),
    ],
)
def test_a66_a_command_pattern_means_what_its_users_know(pattern: str, command: str, expected: bool) -> None:
    assert compile_command(pattern).matches(command, ()) is expected


@given(st.text(min_size=1).map(str.strip).filter(bool))
@settings(deadline=None)
def test_a_quoted_text_is_a_pattern_for_itself_alone(text: str) -> None:
    pattern = compile_command(quoted_star(text))

    assert pattern.matches(text, ())
    assert not pattern.wild
    assert not pattern.matches(f"{text}x", ())


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("example.com", "example.com", True),
        ("example.com", "evil-example.com", False),
        ("example.com", "a.example.com", False),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "example.com", True),
        ("*.example.com", "badexample.com", False),
        ("*", "anything.org", True),
        ("example.com", "EXAMPLE.com.", True),
    ],
)
def test_a65_a_host_pattern_is_exact_or_all_below(pattern: str, host: str, expected: bool) -> None:
    assert host_matches(pattern, host) is expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/src/**", "/p/src/a.py", True),
        ("/src/**", "/p/src", True),
        ("/src/**", "/p/src-backup/a", False),
        ("/src", "/p/src/deep/a", True),
        ("/src/*", "/p/src/a", True),
        ("*.py", "/p/deep/a.py", True),
        (".env", "/p/sub/.env", True),
        ("src/**", "/p/src/a", True),
        ("src/**", "/p/x/src/a", False),
        ("//etc/hosts", "/etc/hosts", True),
        ("//etc/**", "/etc/ssl/x", True),
        ("//etc/**", "/etcetera/x", False),
        ("~/x/**", "/h/x/y", True),
        ("~/x/**", "/h/xy", False),
        ("//**", "/anything", True),
        ("*.py", "/elsewhere/a.py", False),
        ("#x", "/p/#x", True),
    ],
)
def test_a63_a_path_pattern_matches_by_components(pattern: str, path: str, expected: bool) -> None:
    assert PathPatterns("/p", "/h").matches(pattern, path, base=Path("/p")) is expected


@given(
    st.text(st.characters(exclude_characters="/\0\n\r", exclude_categories=["Cs"]), min_size=1).filter(
        lambda t: t.strip() == t and t not in (".", "..")
    )
)
@settings(deadline=None)
def test_the_pattern_of_a_path_means_that_path(name: str) -> None:
    patterns = PathPatterns("/p", "/h")

    assert patterns.matches(path_pattern(f"/p/{name}", project="/p"), f"/p/{name}", base=Path("/p"))
    assert patterns.matches(path_pattern(f"/q/{name}", project="/p"), f"/q/{name}", base=Path("/p"))
    assert not patterns.matches(path_pattern(f"/p/{name}", project="/p"), f"/p/{name}x", base=Path("/p"))
