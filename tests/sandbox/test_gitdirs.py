import subprocess
from pathlib import Path

import pytest

from agent_tui.sandbox.gitdirs import MAX_WRITABLE, find_pins
from agent_tui.sandbox.gitstubs import CommonDirStubs, HookFolders
from agent_tui.sandbox.survey import survey


def init(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder / ".git"


def test_nested_repositories_are_pinned_too(workspace: Path) -> None:
    outer, inner = init(workspace), init(workspace / "vendor" / "lib")

    pins = find_pins(workspace)

    assert set(pins.main) == {outer, inner}
    assert set(pins.writable) == {outer, workspace / "vendor", workspace / "vendor/lib", inner}
    assert pins.writable.index(workspace / "vendor") < pins.writable.index(inner)
    assert {outer / "hooks", outer / "config", inner / "hooks", inner / "config"} <= set(pins.read_only)


def test_absent_hooks_folder_is_created_so_that_it_can_be_pinned(workspace: Path) -> None:
    git = init(workspace)
    for hook in (git / "hooks").iterdir():
        hook.unlink()
    (git / "hooks").rmdir()

    pins = find_pins(workspace)

    assert git / "hooks" in pins.read_only
    assert (git / "hooks").is_dir()


def test_worktree_leads_to_the_common_directory(workspace: Path, tmp_path: Path) -> None:
    main = tmp_path / "main"
    git = init(main)
    subprocess.run(["git", "-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    workspace.rmdir()
    subprocess.run(["git", "-C", str(main), "worktree", "add", "-q", str(workspace)], check=True)

    assert find_pins(workspace).writable == (git,)


def test_git_file_that_points_elsewhere_without_a_link_back_is_not_followed(
    workspace: Path, tmp_path: Path
) -> None:
    other = init(tmp_path / "other")
    (workspace / ".git").write_text(f"gitdir: {other}\n")

    assert find_pins(workspace).writable == ()


def test_pointer_to_a_folder_of_the_archive_cannot_make_another_folder_writable(tmp_path: Path) -> None:
    workspace, beside = tmp_path / "dl/proj", tmp_path / "dl/beside"
    workspace.mkdir(parents=True)
    for folder in (beside / "worktrees/x", beside / "objects", beside / "refs"):
        folder.mkdir(parents=True)
    (beside / "HEAD").write_text("ref: refs/heads/main\n")
    (beside / "worktrees/x/gitdir").write_text("../../../proj/.git\n")
    (beside / "worktrees/x/commondir").write_text(str(tmp_path))
    (workspace / ".git").write_text("gitdir: ../beside/worktrees/x\n")

    assert find_pins(workspace).writable == ()


def test_git_link_out_of_the_workspace_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    (workspace / ".git").symlink_to(init(tmp_path / "other"))

    pins = find_pins(workspace)

    assert (pins.writable, pins.read_only) == ((), ())


def test_repository_with_a_linked_hooks_folder_is_read_only_as_a_whole(workspace: Path) -> None:
    git = init(workspace)
    subprocess.run(["rm", "-r", str(git / "hooks")], check=True)
    (git / "hooks").symlink_to("../githooks")

    pins = find_pins(workspace)

    assert (pins.writable, pins.read_only) == ((), (git,))


def test_submodule_that_is_the_workspace_leads_to_its_own_git_directory(tmp_path: Path) -> None:
    above, library = tmp_path / "above", tmp_path / "library"
    init(above), init(library)
    subprocess.run(["git", "-C", str(library), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    add = ["git", "-C", str(above), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add"]
    subprocess.run([*add, str(library), "sub"], check=True)

    inside, outside = find_pins(above), find_pins(above / "sub")

    assert outside.main == (above / ".git/modules/sub",)
    assert above / ".git/modules/sub/hooks" in inside.read_only
    assert above / "sub/.git" in inside.read_only


def test_bare_repository_is_pinned_where_its_configuration_is(workspace: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(workspace / "bare")], check=True)

    assert workspace / "bare/config" in find_pins(workspace).read_only


def test_hooks_folder_in_the_workspace_is_read_only(workspace: Path) -> None:
    init(workspace)
    (workspace / ".husky/_").mkdir(parents=True)
    subprocess.run(["git", "-C", str(workspace), "config", "core.hooksPath", ".husky/_"], check=True)

    assert workspace / ".husky/_" in find_pins(workspace).read_only


def configure(workspace: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(workspace), "config", *words], check=True)


def test_h_s3_the_way_to_a_named_hooks_folder_is_pinned(workspace: Path) -> None:
    init(workspace)
    (workspace / "tools/hooks").mkdir(parents=True)
    configure(workspace, "core.hooksPath", "tools/hooks")

    pins = find_pins(workspace)

    assert workspace / "tools/hooks" in pins.read_only
    assert workspace / "tools" in pins.writable


def test_h_s3_an_absent_hooks_folder_is_made_for_the_session_and_goes_with_the_last(workspace: Path) -> None:
    init(workspace)
    configure(workspace, "core.hooksPath", "tools/hooks")
    first, second = HookFolders(), HookFolders()

    for session in (first, second):
        assert session.hold(find_pins(workspace).absent_hooks) == [workspace / "tools/hooks"]
    second.close()
    assert (workspace / "tools/hooks").is_dir()
    first.close()
    assert not (workspace / "tools").exists()


def test_h_s11_a_made_hooks_folder_stays_while_another_session_pins_it(workspace: Path) -> None:
    init(workspace)
    configure(workspace, "core.hooksPath", "tools/hooks")
    first, second = HookFolders(), HookFolders()
    for session in (first, second):
        session.hold(find_pins(workspace).absent_hooks)

    first.close()

    assert (workspace / "tools/hooks").is_dir()
    second.close()


def test_h_s3_a_made_hooks_folder_that_was_filled_by_its_owner_stays(workspace: Path) -> None:
    folders = HookFolders()
    folders.hold([workspace / "hooks"])
    (workspace / "hooks/pre-commit").write_text("mine")

    folders.close()

    assert (workspace / "hooks/pre-commit").read_text() == "mine"


@pytest.mark.parametrize("file", [".gitconfig", ".config/git/config"])
def test_h_s3_a_relative_hooks_folder_of_the_user_counts_in_every_repository(
    workspace: Path, tmp_path: Path, file: str
) -> None:
    git = init(workspace)
    (workspace / ".githooks").mkdir()
    home = tmp_path / "home"
    (home / file).parent.mkdir(parents=True)
    (home / file).write_text("[core]\n\thooksPath = .githooks ; ours\n")

    assert workspace / ".githooks" in find_pins(workspace, home=home).read_only
    assert workspace / ".githooks" not in find_pins(workspace).read_only
    assert (git / "hooks").is_dir()


def test_h_s3_hooks_that_an_included_file_names_are_read_only_and_so_is_that_file(workspace: Path) -> None:
    init(workspace)
    (workspace / "conf").mkdir()
    (workspace / "conf/git").write_text('[core] hooksPath = "my hooks"\n')
    (workspace / "my hooks").mkdir()
    configure(workspace, "include.path", "../conf/git")

    pins = find_pins(workspace)

    assert {workspace / "conf/git", workspace / "my hooks"} <= set(pins.read_only)
    assert workspace / "conf" in pins.writable


def test_h_s3_files_that_include_each_other_end(workspace: Path) -> None:
    init(workspace)
    (workspace / "a").write_text("[include] path = b\n")
    (workspace / "b").write_text("[include]\n\tpath = a\n")
    configure(workspace, "include.path", "../a")

    assert {workspace / "a", workspace / "b"} <= set(find_pins(workspace).read_only)


def test_h_s3_a_second_configuration_is_made_where_git_would_read_one(workspace: Path) -> None:
    git = init(workspace)
    assert git / "config.worktree" not in find_pins(workspace).read_only

    configure(workspace, "extensions.worktreeConfig", "true")

    assert git / "config.worktree" in find_pins(workspace).read_only
    assert (git / "config.worktree").read_text() == ""


def test_h_s3_hooks_of_a_linked_work_tree_stand_in_that_work_tree(workspace: Path, tmp_path: Path) -> None:
    main = tmp_path / "main"
    init(main)
    subprocess.run(["git", "-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    workspace.rmdir()
    subprocess.run(["git", "-C", str(main), "worktree", "add", "-q", str(workspace)], check=True)
    configure(main, "core.hooksPath", ".githooks")
    (workspace / ".githooks").mkdir()

    assert workspace / ".githooks" in find_pins(workspace).read_only


def test_commondir_stub_changes_nothing_for_git_and_goes_with_the_last_session(workspace: Path) -> None:
    git = init(workspace)
    first, second = CommonDirStubs(), CommonDirStubs()

    assert first.hold([git]) == second.hold([git]) == [git / "commondir"]

    def run(*words: str) -> None:
        subprocess.run(["git", "-C", str(workspace), *words], check=True, capture_output=True)

    (workspace / "a").write_text("a")
    run("add", "-A")
    run("commit", "-qm", "a")
    run("gc", "-q")
    run("worktree", "add", "-q", "../tree")
    run("stash", "list")
    run("checkout", "-q", "-b", "b")
    run("-C", "../tree", "commit", "-q", "--allow-empty", "-m", "b")
    first.close()
    assert (git / "commondir").exists()
    second.close()
    assert not (git / "commondir").exists()


def test_commondir_stub_leaves_a_submodule_working(tmp_path: Path) -> None:
    above, library = tmp_path / "above", tmp_path / "library"
    init(above), init(library)
    subprocess.run(["git", "-C", str(library), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    add = ["git", "-C", str(above), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add"]
    subprocess.run([*add, str(library), "sub"], check=True)
    (above / "sub/deep").mkdir()
    stubs = CommonDirStubs()
    stubs.hold(find_pins(above).main)
    status = ["git", "-C", str(above / "sub/deep"), "rev-parse", "--show-toplevel"]

    done = subprocess.run(status, check=True, capture_output=True, text=True)

    assert done.stdout.strip() == str(above / "sub")
    stubs.close()


@pytest.mark.parametrize("name", [".env", ".env.local", ".env-test"])
def test_env_files_are_found_and_examples_are_not(workspace: Path, name: str) -> None:
    (workspace / "deep").mkdir()
    for file in (name, ".env.example", ".envrc", "env"):
        (workspace / "deep" / file).touch()

    assert survey(workspace).env_files == [workspace / "deep" / name]


def test_search_that_takes_too_long_says_that_it_is_not_complete(workspace: Path) -> None:
    assert survey(workspace).complete
    assert not survey(workspace, max_seconds=-1).complete


def test_of_many_repositories_the_nearest_can_be_written_and_the_rest_is_read_only(workspace: Path) -> None:
    for number in range(MAX_WRITABLE + 2):
        git = workspace / f"n{number:02}" / ".git"
        for folder in (git / "objects", git / "refs"):
            folder.mkdir(parents=True)
        (git / "HEAD").touch()

    pins = find_pins(workspace)

    rest = [path for path in pins.read_only if path.name == ".git"]
    assert (len(pins.main), len(rest)) == (MAX_WRITABLE, 2)
    assert not set(pins.main) & set(rest)


def test_way_to_the_git_directory_of_a_submodule_is_pinned(workspace: Path) -> None:
    git = init(workspace)
    module = git / "modules/deep/sub"
    (module / "objects").mkdir(parents=True)
    (module / "HEAD").touch()

    assert {git / "modules", git / "modules/deep", module} <= set(find_pins(workspace).writable)
