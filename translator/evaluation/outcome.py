"""What an evaluation found, and the files that it leaves in an evaluation folder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from translator.corpus.test_set import HeldOutSet
from translator.evaluation.comparison import SystemComparison
from translator.evaluation.diagnosis import Diagnosis
from translator.evaluation.metrics import Score
from translator.evaluation.score_file import sole_writer
from translator.evaluation.scored_set import ScoredSet, write_scored_set
from translator.evaluation.slices import Slice
from translator.evaluation.summary import TranslatedPair
from translator.storage import write_json, write_text


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found; everything is also in the evaluation folders of the systems."""

    scores: list[Score]
    """The first is BLEU 13a on the raw text of the first test set by the first system."""
    samples: list[TranslatedPair]
    """Pairs of all test sets, chosen at random with the run's seed, as the first system translated them."""
    sets: list[ScoredSet] = field(default_factory=list)
    """Each test set as each system translated it, one system after the other."""
    diagnoses: list[Diagnosis] = field(default_factory=list)
    """In the order of `sets`."""
    slices: list[list[Slice]] = field(default_factory=list)
    """The parts of each set, in the order of `sets`."""
    comparisons: list[SystemComparison] = field(default_factory=list)
    """One for each test set, if there are several systems."""
    missing: list[str] = field(default_factory=list)
    """What was asked for and could not be computed, and how to get what it needs."""
    folders: list[Path] = field(default_factory=list)
    """Where the files are, each once."""
    report: Path | None = None
    """The page for a browser, if one was asked for."""


def write_outputs(folder: Path, held_out: HeldOutSet, scored: ScoredSet, diagnosis: Diagnosis) -> None:
    """Write the sentences of one test set with their translations, and what was found in them.

    Raises:
        StorageError: the folder cannot be written.
    """
    _write_lines(folder / f"{held_out.name}.source.txt", held_out.sources)
    for number, texts in enumerate(zip(*held_out.references, strict=True), start=1):
        _write_lines(folder / f"{held_out.name}.reference{f'-{number}' if number > 1 else ''}.txt", texts)
    _write_lines(folder / f"{scored.name}.hypotheses.txt", scored.hypotheses)
    write_scored_set(folder, scored)
    write_json(folder / f"{scored.name}.diagnosis.json", diagnosis.to_json())


def add_slices(folder: Path, slices: Sequence[Slice]) -> None:
    """Put `slices` before those saved in slices.json, in place of older ones of the same test set and system.

    A damaged file is written anew: whatever it held can be had again.

    Raises:
        RunError: another process keeps the folder to itself.
        StorageError: the file cannot be written.
    """
    path = folder / "slices.json"
    replaced = {(one.test_set, one.checkpoint, one.search) for one in slices}
    with sole_writer(folder):
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            kept = [one for one in saved if (one["test_set"], one["checkpoint"], one["search"]) not in replaced]
        except (OSError, ValueError, KeyError, TypeError):
            kept = []
        write_json(path, [*(one.to_json() for one in slices), *kept])


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write one line for each text; line breaks other than "\\n" stay inside their line, as in the corpus."""
    write_text(path, "".join(f"{line}\n" for line in lines))
