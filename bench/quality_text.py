"""The text of the contest: what our corpus room has prepared, as plain files that every toolkit reads.

    train.en, train.fa                  normalized, all sources one after the other
    train/SOURCE.en, .fa                the same, by source
    validation, choice, test .en .fa    as read, all sources one after the other; NAME.json counts them by source
    validation, choice, test .input     their English sides normalized, as our own translator does for itself
    scored/SOURCE, watched/SOURCE       four fifths and one fifth of the validation text, for experiments

`choice` is a part of `validation`. The experiments never see the test text.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.corpus.normalize import Normalizer
from translator.corpus.test_set import HeldOutSet, evenly_spread, held_out_of_corpus
from translator.data import DataHandler
from translator.storage import new_folder, storage_errors, write_json, write_text

WATCHED_EVERY: Final = 5
"""Every fifth validation pair is only watched by the experiments, not scored."""


@dataclass(frozen=True)
class ContestText:
    """The folder of the files."""

    folder: Path

    def input(self, name: str) -> Path:
        """Return the normalized English of `validation`, `choice` or `test`."""
        return self.folder / f"{name}.input"

    def sets(self, name: str) -> list[HeldOutSet]:
        """Return the held-out text `name` by source.

        Raises:
            StorageError: a file is not there.
        """
        counts: dict[str, int] = json.loads(_read(self.folder / f"{name}.json"))
        sources, references = (read_lines(self.folder / f"{name}.{side}") for side in ("en", "fa"))
        found, start = [], 0
        for source, count in counts.items():
            part = slice(start, start + count)
            several = tuple((text,) for text in references[part])
            found.append(HeldOutSet(source, tuple(sources[part]), several, (source,) * count))
            start += count
        assert start == len(sources) == len(references)
        return found


def write_contest_text(data: DataHandler, folder: Path, choice_sentences: int) -> ContestText:
    """Write the files into `folder`, which appears whole or not at all.

    Raises:
        StorageError: it cannot be written, or prepared text is damaged.
    """
    corpus, normalizer = data.corpus, data.normalizer
    with new_folder(folder) as beside:
        for side in ("en", "fa"):
            by_source = {name: list(corpus.lines("train", name, side)) for name in corpus.names("train")}
            _write_lines(beside / f"train.{side}", (line for lines in by_source.values() for line in lines))
            for name, lines in by_source.items():
                _write_lines(beside / "train" / f"{name}.{side}", lines)
        validation = held_out_of_corpus(corpus, "validation")
        _write_sets(beside, "validation", validation, normalizer)
        _write_sets(beside, "test", held_out_of_corpus(corpus, "test"), normalizer)
        total = sum(len(one.sources) for one in validation)
        chosen = set(evenly_spread(total, choice_sentences))
        _write_sets(beside, "choice", _taken(validation, chosen), normalizer)
        watched = set(range(0, total, WATCHED_EVERY))
        parts: Mapping[str, set[int]] = {"watched": watched, "scored": set(range(total)) - watched}
        for name, numbers in parts.items():
            for one in _taken(validation, numbers):
                _write_lines(beside / name / f"{one.name}.en", one.sources)
                _write_lines(beside / name / f"{one.name}.fa", [several[0] for several in one.references])
    return ContestText(folder)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file.

    Raises:
        StorageError: it cannot be read.
    """
    text = _read(path).removesuffix("\n")
    return text.split("\n") if text else []


def _taken(sets: Sequence[HeldOutSet], numbers: set[int]) -> list[HeldOutSet]:
    """Return what is left of `sets` if only the sentences `numbers`, counted through all of them, stay."""
    found, start = [], 0
    for one in sets:
        rows = [row for row in range(len(one.sources)) if start + row in numbers]
        texts = tuple(one.sources[row] for row in rows), tuple(one.references[row] for row in rows)
        if rows:
            found.append(HeldOutSet(one.name, *texts, (one.name,) * len(rows)))
        start += len(one.sources)
    return found


def _write_sets(folder: Path, name: str, sets: Sequence[HeldOutSet], normalizer: Normalizer) -> None:
    sources = [text for one in sets for text in one.sources]
    _write_lines(folder / f"{name}.en", sources)
    _write_lines(folder / f"{name}.fa", (several[0] for one in sets for several in one.references))
    _write_lines(folder / f"{name}.input", map(normalizer.source, sources))
    write_json(folder / f"{name}.json", {one.name: len(one.sources) for one in sets})


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))


def _read(path: Path) -> str:
    with storage_errors(path, "read"), path.open(encoding="utf-8", newline="\n") as stream:
        return stream.read()
