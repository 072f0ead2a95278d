"""The walk of docs/architecture.md is true: its functions exist, and a sentence passes them in that order."""

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

from tests.support.tiny_recipe import draw_nothing, write_recipe
from translator.config import parse_config

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "translator"
STOP = re.compile(r"^(\d+)\. `([\w/]+\.py)` · `([\w.]+)`", re.MULTILINE)


class Stop(NamedTuple):
    """A stop of the walk."""

    file: str  # below `translator/`
    function: str  # with its class


def stops(heading: str) -> list[Stop]:
    """Return the stops below a heading of the page, and check that they are counted from 1."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (part,) = re.findall(rf"^## {heading}\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    rows = STOP.findall(part)
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    return [Stop(file=file, function=function) for _, file, function in rows]


def first_calls(work: Callable[[], Any]) -> list[Stop]:
    """Return the functions of the package that `work` calls, in the order of their first calls."""
    code_objects: dict[CodeType, None] = {}  # in the order of their first calls

    def note(frame: FrameType, event: str, _: object) -> None:
        code_objects.setdefault(frame.f_code)

    # A tracer that returns None sees calls only.
    threading.settrace(note)
    sys.settrace(note)
    try:
        work()
    finally:
        sys.settrace(None)
        threading.settrace(None)
    calls = []
    for code in code_objects:
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE):
            calls.append(Stop(file=path.relative_to(PACKAGE).as_posix(), function=code.co_qualname))
    return list(dict.fromkeys(calls))


def test_training_passes_the_stops_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support.tiny_runs import run

    draw_nothing(monkeypatch)
    # The page comes to the search with a validation, but training translates a few sentences before its first update.
    monkeypatch.setattr("translator.training.validation.Validator.watch", lambda _: [])
    config = parse_config(write_recipe(tmp_path).read_text(encoding="utf-8"), "tiny.yaml")
    calls = first_calls(lambda: run(config))
    page = stops("One sentence in training")
    assert [stop for stop in calls if stop in page] == page


def test_translation_passes_the_stops_in_their_order(trained_folder: Path) -> None:
    from translator import Translator

    def translate() -> str:
        translator = Translator.load(trained_folder / "run", engine="torch", overrides=["search.method=beam"])
        return translator.translate("abc def")

    calls = first_calls(translate)
    page = stops("One sentence in translation")
    assert [stop for stop in calls if stop in page] == page
