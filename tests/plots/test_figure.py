"""How a picture comes to the disk."""

from pathlib import Path

import matplotlib as mpl
import pytest

from translator.config import TrainingConfig
from translator.errors import InputError, StorageError
from translator.plots.figure import check_picture, distinct, house_style, new_figure, shown, write_picture
from translator.plots.mask_example import example_masks
from translator.plots.masks import masks_figure
from translator.plots.schedule import schedule_figure


@pytest.mark.parametrize(("name", "beginning"), [("a.png", b"\x89PNG"), ("A.SVG", b"<?xml")])
def test_the_ending_is_the_format_and_the_same_picture_has_the_same_bytes(
    tmp_path: Path, name: str, beginning: bytes
) -> None:
    recipes = [("a", TrainingConfig(max_steps=40, warmup_steps=8))]
    write_picture(schedule_figure(recipes), tmp_path / name)
    first = (tmp_path / name).read_bytes()
    with mpl.rc_context({"lines.linewidth": 9, "figure.facecolor": "red", "font.size": 30}):
        write_picture(schedule_figure(recipes), tmp_path / name)
    assert first.startswith(beginning)
    assert (tmp_path / name).read_bytes() == first
    assert b"Date" not in first
    assert b"atplotlib v" not in first
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("name", "said"), [("a.pdf", r"has the ending \.pdf"), ("picture", "has no ending")])
def test_an_ending_that_names_no_picture(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"{said}.*end it in \.png or \.svg"):
        check_picture(tmp_path / name)


def test_a_picture_too_large_to_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"37,500 × 150 pixels.*draw less"):
        write_picture(new_figure(250, 1), tmp_path / "a.png")
    write_picture(new_figure(250, 1), tmp_path / "a.svg")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"nowhere.*not there"):
        check_picture(tmp_path / "nowhere" / "a.png")


def test_a_disk_that_takes_nothing_leaves_the_old_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.svg"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="disk is full"):
        write_picture(masks_figure(example_masks()), path)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a.svg", b"old")]


def test_names_are_labels_whatever_is_in_them() -> None:
    assert shown("_a$b$").strip("\u202d\u202c") == "_a$b$"
    assert not shown("_a").startswith("_")  # matplotlib leaves such labels out of its legend
    assert shown("مدل").strip("\u202d\u202c") == "ﻝﺪﻣ"
    with house_style():
        assert mpl.rcParams["text.parse_math"] is False


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    a, b, other = tmp_path / "a" / "run", tmp_path / "b" / "run", tmp_path / "other"
    assert distinct([a, b, other]) == [str(a), str(b), "other"]
