"""Translating a file: the output is complete or absent, with the same bytes however often the process was killed."""

import os
import signal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.support.faults import Faults, Killed
from tests.support.loud_translator import loud
from translator.errors import InputError, Interrupted
from translator.inference.files import block_translation
from translator.inference.files.document import Document
from translator.inference.files.file_translation import translate_file
from translator.inference.files.output_formats import OutputForm
from translator.subword.glossary import Glossary

LINES = loud().searcher.batch_rows  # of a block, in these tests
TEXT = OutputForm()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_translation, "LINES_AT_ONCE", 1)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_text("".join(f"line {number} گل\n" for number in range(4 * LINES + 3)), encoding="utf-8")
    return path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "text"


def translate(source: Path, output: Path, translator: Any = None, form: OutputForm = TEXT) -> Any:
    """Translate a file; return the first line of each call of the translator."""
    translator = translator or loud()
    translate_file(lambda: translator, Document(source, form), output)
    return translator.first_lines


def upper_case(source: Path) -> str:
    """Return the translation of a file."""
    return source.read_text(encoding="utf-8").upper()


def interrupted(source: Path, output: Path) -> Path:
    """Stop a translation after two blocks; return its partial file."""
    with pytest.raises(Interrupted):
        translate(source, output, loud(Mock(side_effect=[None, None, Interrupted(signal.SIGTERM)])))
    (partial_file,) = output.parent.glob(f"{output.name}.*.partial")
    return partial_file


def names(output: Path) -> list[str]:
    return sorted(path.name for path in output.parent.iterdir())


# --- the output ---


def test_output_appends_to_an_open_descriptor(source: Path, output: Path) -> None:
    output.write_text("before\n", encoding="utf-8")
    with output.open("ab") as log:
        translate(source, Path(f"/dev/fd/{log.fileno()}"))
    assert output.read_text(encoding="utf-8") == f"before\n{upper_case(source)}"


# --- resuming ---


def test_whenever_the_process_is_killed_the_same_command_gives_every_line_once(source: Path, output: Path) -> None:
    with Faults(output.parent) as counted:
        translate(source, output)
    whole = output.read_bytes()
    assert whole.decode() == upper_case(source)
    for moment in range(1, len(counted.operations) + 1):
        output.unlink()
        with pytest.raises(Killed), Faults(output.parent, at=moment):
            translate(source, output)
        assert not output.exists() or output.read_bytes() == whole
        translate(source, output)
        assert output.read_bytes() == whole, counted.operations[moment - 1]
        assert not list(output.parent.glob("*.partial"))


def test_what_was_translated_before_a_stop_is_not_translated_again(source: Path, output: Path) -> None:
    interrupted(source, output)
    assert translate(source, output) == [2 * LINES + 1, 3 * LINES + 1, 4 * LINES + 1]
    assert output.read_text(encoding="utf-8") == upper_case(source)
    assert names(output) == ["text"]


def test_a_stop_before_the_first_block_leaves_no_file(source: Path, output: Path) -> None:
    with pytest.raises(Interrupted):
        translate(source, output, loud(Mock(side_effect=Interrupted(signal.SIGTERM))))
    assert names(output) == []


@pytest.mark.parametrize("what", ["input", "form", "search", "terms", "weights", "device"])
def test_a_partial_file_of_other_input_or_settings_is_kept_not_resumed(what: str, source: Path, output: Path) -> None:
    older = interrupted(source, output)
    before = older.read_bytes()

    # The next translation differs in `what` alone.
    translator = loud(max_length_ratio=3.0 if what == "search" else 2.0)
    if what == "input":
        source.write_text(source.read_text(encoding="utf-8").replace("line 7", "line x"), encoding="utf-8")
    elif what == "terms":
        translator.glossary = Glossary({"line": "خط"})
    elif what == "weights":
        translator.identity = "others"
    elif what == "device":
        translator.searcher.arithmetic = "cuda"
    form = OutputForm("tsv") if what == "form" else TEXT
    assert translate(source, output, translator, form)[0] == 1
    assert older.read_bytes() == before
    assert names(output) == ["text", older.name]


def test_no_damage_to_a_partial_file_reaches_the_output(source: Path, output: Path) -> None:
    partial_file = interrupted(source, output)
    sound = partial_file.read_bytes()
    damages = [sound[:size] for size in range(0, len(sound), 23)]
    for place in range(0, len(sound), 5):
        damages.append(sound[:place] + bytes([sound[place] ^ 2]) + sound[place + 1 :])
    damages.append(sound[:-1] + b" ")
    for damaged in damages:
        partial_file.write_bytes(damaged)
        translate(source, output)
        assert output.read_text(encoding="utf-8") == upper_case(source), damaged[:200]
        output.unlink()


def test_two_processes_that_translate_the_same_file_write_the_same(source: Path, output: Path) -> None:
    def again() -> None:
        translate(source, output)

    translate(source, output, loud(again))
    assert output.read_text(encoding="utf-8") == upper_case(source)


def test_an_input_that_changes_during_translation_is_refused(source: Path, output: Path) -> None:
    os.utime(source, (1, 1))

    def rewrite() -> None:
        """Keep the number of lines, and of bytes."""
        source.write_bytes(source.read_bytes().replace(b"line 9", b"line x"))

    with pytest.raises(InputError, match=r"source\.txt changed during its translation; run the same command again"):
        translate(source, output, loud(rewrite))
    assert names(output) == []
