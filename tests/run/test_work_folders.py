"""A folder is replaced whole or not at all, whenever its process is killed, and nothing beside it changes."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from translator.errors import RunError, StorageError
from translator.run.storage import write_text
from translator.run.work_folders import _work_name, new_folder, replace_link, restore_folders, work_folder

CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "open", "os.chmod")
LOOK_ALIKES = (
    ".exp.partial",
    ".exp.replaced",
    ".exp.0123abcd.partial",
    ".exp.0123abcd-0123abcd.partial",
    ".exp.0123abcd.tmp",
    ".exp.copied.1",
    ".photos.partial",
    ".photos.replaced",
    ".best.partial",
    ".translator",
    "exp.yaml",
    "photos",
)
OURS = _work_name("exp", "0123abcd")  # only a folder of this name is ours, and not a link or a file
Content = dict[str, str | bytes | None]


def content_of(folder: Path, names: set[str] | None = None) -> Content:
    """Return what lies in a folder, by path: bytes of files, targets of links, None for folders."""
    content: Content = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if names is not None and name.split("/")[0] not in names:
            continue
        if path.is_symlink():
            content[name] = str(path.readlink())
        else:
            content[name] = path.read_bytes() if path.is_file() else None
    return content


def make_stranger(path: Path, kind: str, elsewhere: Path) -> None:
    if kind == "file":
        path.write_text(f"the user's {path.name}", encoding="utf-8")
    elif kind == "folder":
        path.mkdir()
        for name in ("old", "photo"):
            (path / name).mkdir()
            (path / name / "a").write_text("x", encoding="utf-8")
    elif kind == "empty folder":
        path.mkdir()
    else:
        targets = {"link to folder": elsewhere, "link to file": elsewhere / "a", "broken link": Path("nowhere")}
        path.symlink_to(targets[kind])


def kill_at(number: int, work: Callable[[], None]) -> bool:
    """Call `work` in a process of its own, which is killed before its change number `number` to a disk.

    Return whether it was killed; False: its work has fewer changes.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    try:
        changes = 0

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal changes
            if event not in CHANGES:  # os.kill is an event, too
                return
            changes += 1
            if changes == number:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        work()
    finally:
        os._exit(0)


def write_new(target: Path) -> None:
    with new_folder(target) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "a").write_text("new", encoding="utf-8")


KINDS = ("file", "folder", "empty folder", "link to folder", "link to file", "broken link")
STRANGERS = st.dictionaries(st.sampled_from(LOOK_ALIKES), st.sampled_from(KINDS), max_size=5)
LINKS_LIKE_OURS = st.sampled_from((None, "file", "link to folder", "link to file", "broken link"))


@settings(max_examples=12, deadline=None)
@example(strangers=dict.fromkeys(LOOK_ALIKES, "folder"), like_ours="link to folder", exists=True, kills=[9, 11])
@given(strangers=STRANGERS, like_ours=LINKS_LIKE_OURS, exists=st.booleans(), kills=st.lists(st.integers(1, 30)))
def test_a_kill_leaves_the_old_folder_or_the_new_one_and_strangers_as_they_are(
    strangers: dict[str, str], like_ours: str | None, exists: bool, kills: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        place, elsewhere = Path(name) / "place", Path(name) / "elsewhere"
        (elsewhere / "old").mkdir(parents=True)
        (elsewhere / "a").write_text("precious", encoding="utf-8")
        place.mkdir()
        if like_ours is not None:
            strangers = {**strangers, OURS: like_ours}
        for stranger, kind in strangers.items():
            make_stranger(place / stranger, kind, elsewhere)
        before, before_elsewhere = content_of(place), content_of(elsewhere)
        target = place / "exp"
        versions: list[Content] = [{"deep": None, "deep/a": b"new"}, {}]
        if exists:
            target.mkdir()
            (target / "a").write_text("old", encoding="utf-8")
            versions[1] = {"a": b"old"}

        for kill in kills[:2]:
            kill_at(kill, lambda: write_new(target))
            restore_folders(place)
            assert content_of(target) in versions
            assert content_of(place, set(strangers)) == before
            assert content_of(elsewhere) == before_elsewhere

        write_new(target)
        assert content_of(target) == versions[0]
        assert {entry.name for entry in place.iterdir()} == {*strangers, "exp"}
        assert content_of(place, set(strangers)) == before
        assert content_of(elsewhere) == before_elsewhere


@pytest.mark.parametrize("action", [write_new, lambda target: replace_link(target, "somewhere")])
def test_the_next_process_clears_what_a_kill_at_any_instant_left(
    tmp_path: Path, action: Callable[[Path], None]
) -> None:
    target = tmp_path / "exp"
    action(target)
    left_behind = 0
    number = 1
    while kill_at(number, partial(action, target)):
        left_behind += len(list(tmp_path.glob(".exp.*")))
        action(target)
        assert [entry.name for entry in tmp_path.iterdir()] == ["exp"], number
        number += 1
    assert left_behind > 3


def test_a_killed_replacement_is_put_back_once_the_target_is_missing(tmp_path: Path) -> None:
    work = tmp_path / OURS
    (work / "old").mkdir(parents=True)
    (work / "old" / "a").write_text("old", encoding="utf-8")
    (work / "new").mkdir()
    restore_folders(tmp_path)
    assert content_of(tmp_path) == {"exp": None, "exp/a": b"old"}


def test_a_replaced_folder_stays_if_another_program_has_taken_its_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("old", "new"):
        (tmp_path / OURS / name).mkdir(parents=True)
    (tmp_path / OURS / "old" / "a").write_text("old", encoding="utf-8")
    (tmp_path / "exp").mkdir()
    restore_folders(tmp_path)
    assert (tmp_path / OURS / "old" / "a").read_text(encoding="utf-8") == "old"


def test_a_failed_second_rename_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "exp"
    write_new(target)
    rename = Path.rename

    def fail(path: Path, to: Path) -> Path:
        if path.name == "new":
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(StorageError, match="the disk is full"), new_folder(target):
        pass
    assert content_of(tmp_path) == {"exp": None, "exp/deep": None, "exp/deep/a": b"new"}


def test_work_of_a_living_process_stays(tmp_path: Path) -> None:
    with work_folder(tmp_path / "exp") as living:
        write_new(tmp_path / "exp")
        restore_folders(tmp_path)
        assert living.is_dir()
    assert [entry.name for entry in tmp_path.iterdir()] == ["exp"]


def test_without_replacing_one_process_at_a_time_writes_a_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "exp", replace=False) as folder:
        (folder / "a").write_text("first", encoding="utf-8")
        with pytest.raises(RunError, match=r"another process is writing .*exp; wait for it"):
            new_folder(tmp_path / "exp", replace=False).__enter__()
        with new_folder(tmp_path / "other", replace=False):
            pass
    with pytest.raises(StorageError, match="the folder is not empty"), new_folder(tmp_path / "exp", replace=False):
        pass
    assert content_of(tmp_path / "exp") == {"a": b"first"}


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_files_and_folders_obey_the_umask(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from translator.run.storage import write_text\n"
        "from translator.run.work_folders import new_folder\n"
        "os.umask(0o077); place = Path(sys.argv[1]); write_text(place / 'file', 'x')\n"
        "with new_folder(place / 'folder') as folder: (folder / 'a').write_text('x')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert mode_of(tmp_path / "file") == 0o600
    assert mode_of(tmp_path / "folder") == 0o700
    assert mode_of(tmp_path / "folder" / "a") == 0o600


def test_a_replacement_keeps_the_mode_of_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    write_text(tmp_path / "file", "old")
    (tmp_path / "file").chmod(0o640)
    write_new(tmp_path / "folder")
    write_text(tmp_path / "file", "new")
    assert mode_of(tmp_path / "folder") == 0o700
    assert mode_of(tmp_path / "file") == 0o640


def test_a_new_link_replaces_the_old_one_and_no_stranger(tmp_path: Path) -> None:
    (tmp_path / ".best.partial").write_text("the user's", encoding="utf-8")
    replace_link(tmp_path / "best", "one")
    replace_link(tmp_path / "best", "two")
    assert content_of(tmp_path) == {".best.partial": b"the user's", "best": "two"}


def test_a_failed_replacement_keeps_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    with new_folder(target) as beside:
        (beside / "a").write_text("old")

    # A replacement that fails.
    with pytest.raises(KeyError), new_folder(target) as beside:
        (beside / "a").write_text("new")
        raise KeyError
    assert (target / "a").read_text() == "old"

    # A replacement that succeeds.
    with new_folder(target) as beside:
        (beside / "b").write_text("new")
    assert [entry.name for entry in target.iterdir()] == ["b"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_two_processes_can_create_the_same_folder_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from translator.run.work_folders import new_folder\n"
        "with new_folder(Path(sys.argv[1])) as beside:\n"
        "    (beside / 'a').write_text(sys.argv[2]); print('in', flush=True); time.sleep(0.5)\n"
        "    (beside / 'b').write_text('')"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "folder")]
    first = subprocess.Popen([*command, "first"], stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == b"in\n"
    second = subprocess.run([*command, "second"], check=False, capture_output=True)
    assert second.stderr == b""
    assert second.returncode == 0
    assert first.wait() == 0
    assert sorted(entry.name for entry in (tmp_path / "folder").iterdir()) == ["a", "b"]
    assert (tmp_path / "folder" / "a").read_text() in ("first", "second")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]
    first.stdout.close()


def test_a_folder_does_not_replace_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with new_folder(tmp_path / "link") as beside:
        (beside / "a").write_text("1")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a").read_text() == "1"


def test_a_folder_does_not_replace_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(StorageError, match="a file of this name exists"), new_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_in_the_place_of_a_link_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()  # as after copying the run with a tool that follows links
    (tmp_path / "best" / "file").write_text("kept", encoding="utf-8")
    replace_link(tmp_path / "best", "one")
    assert (tmp_path / "best").is_symlink()
    [aside] = tmp_path.glob(".best.copied.*")
    assert (aside / "file").read_text(encoding="utf-8") == "kept"


def test_an_error_of_the_work_is_not_one_of_the_target(tmp_path: Path) -> None:
    def work() -> None:
        with work_folder(tmp_path / "target"):
            raise OSError("of something else")

    with pytest.raises(OSError, match="of something else"):
        work()
    assert list(tmp_path.iterdir()) == []
