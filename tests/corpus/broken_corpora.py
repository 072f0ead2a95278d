"""A small corpus to be broken, its preparation, and what a person is told when it is refused."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from translator.config import CorpusConfig, SourceConfig
from translator.corpus import SPLITS, PreparedCorpus, prepare_corpus
from translator.errors import TranslatorError

COUNT: Final = 60


def rows(count: int = COUNT) -> list[tuple[str, str]]:
    """Return pairs that no rule drops, of many lengths, with one number on both sides that no other pair has."""
    lengths = [number * 7 % 5 for number in range(1, count + 1)]
    return [
        (f"House {number} stands{' by the river' * length}.", f"خانهٔ {number}{' کنار رود' * length} است.")
        for number, length in enumerate(lengths, start=1)
    ]


def sides(pairs: list[tuple[str, str]]) -> tuple[bytes, bytes]:
    """Return the two texts of pairs."""
    english, persian = ("".join(f"{text}\n" for text in side).encode() for side in zip(*pairs, strict=True))
    return english, persian


def table(pairs: list[tuple[str, str]]) -> bytes:
    """Return the table of pairs."""
    return "".join(f"{source}\t{target}\n" for source, target in pairs).encode()


def config_of(source: SourceConfig, prepared: Path, validation: int = 4, test: int = 6) -> CorpusConfig:
    """Return the configuration that prepares one source."""
    return CorpusConfig.model_validate(
        {
            "sources": [source],
            "split": {"validation": validation, "test": test},
            "filters": {"near_duplicates": None, "max_repetition": None},
            "prepared_directory": str(prepared),
            "workers": 1,
        }
    )


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return all that is in a folder: the bytes of files, None for folders; nothing if it is not there."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def texts_of(corpus: PreparedCorpus) -> dict[str, bytes | None]:
    """Return the prepared texts, without the report, which names what they were made from."""
    return {name: content for name, content in contents(corpus.directory).items() if name != "report.json"}


def refusal(source: SourceConfig, prepared: Path) -> str:
    """Prepare what must be refused, see that nothing is left of it beside what was there, and return the message."""
    earlier = prepared / "corpus-0123456789abcdef" / "report.json"
    earlier.parent.mkdir(parents=True, exist_ok=True)
    earlier.write_text("made by an earlier run", encoding="utf-8")
    before = contents(prepared)
    with pytest.raises(TranslatorError) as caught:
        prepare_corpus(config_of(source, prepared))
    assert contents(prepared) == before
    return one_line(str(caught.value))


def one_line(message: str) -> str:
    """Return a message after a look at it: one line for every program, and nothing that steers a terminal."""
    assert len(message.splitlines()) == 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", message)
    return message


def number_of(text: str) -> int:
    """Return the number that stands in a text, in digits of either language."""
    (number,) = re.findall(r"\d+", text)
    return int(number)


def aligned_numbers(corpus: PreparedCorpus) -> set[int]:
    """Return the numbers of all pairs kept, after a look that no pair is put together from two."""
    numbers: list[int] = []
    for split in SPLITS:
        english = list(map(number_of, corpus.lines(split, "text", "en")))
        persian = list(map(number_of, corpus.lines(split, "text", "fa")))
        assert english == persian == sorted(english)
        numbers += english
    assert len(numbers) == len(set(numbers))
    return set(numbers)


@contextlib.contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    """Mount a file system in memory at a folder while the block runs; only root may."""
    place.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        # Lazily: token stores may still be mapped into memory, and what stays mounted stops the next run of the tests.
        subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


def remount(place: Path, options: str) -> None:
    """Change the options of what `mounted` has mounted."""
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True, capture_output=True)
