"""The evaluation folder of a run: scores.json, and a folder with the text and the translations of each test set.

    evaluation/
      scores.json                                  all scores
      SET/source.txt, reference.txt                the scored sentences; reference-2.txt has second references
          CHECKPOINT.SEARCH.txt                    their translations

Line N of each text is sentence N; a reference that a sentence lacks is a blank line.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from translator.corpus.held_out import HeldOutSet
from translator.errors import RunError
from translator.evaluation.metrics import Score, sentence_chrf
from translator.evaluation.mistakes import MEANINGS, find_mistakes
from translator.run.files import locked, storage_errors, write_json, write_text
from translator.run.records import RecordError, read_record

SOURCE_FILE: Final = "source.txt"
FOREIGN: Final = "file"  # the search of translations that another program made
_SCORES: Final = TypeAdapter(list[Score])


@dataclass(frozen=True, kw_only=True)
class ScoredSet:
    """One test set of N sentences, translated by one system."""

    text: HeldOutSet
    system: str  # name of the run, of the runs joined by +, or of a text file
    checkpoint: str = ""  # that made the translations; empty for a text file
    search: str = ""  # short name of the search settings; empty for a text file
    hypotheses: tuple[str, ...]
    cut_off: tuple[int, ...] | None = (
        None  # sentences, from 1, whose translation reached the length limit; None: unknown
    )
    scores: tuple[Score, ...] = ()

    def with_scores(self, scores: Sequence[Score]) -> "ScoredSet":
        """Return the set with `scores`, in which the names of test set, checkpoint and search are filled in."""
        named_scores = []
        for score in scores:
            named_score = replace(
                score,
                test_set=self.text.name,
                search=self.search,
                checkpoint=self.checkpoint,
                left_out=self.text.left_out,
            )
            named_scores.append(named_score)
        return replace(self, scores=tuple(named_scores))

    @cached_property
    def mistakes(self) -> list[dict[str, str]]:
        """For each sentence, a note on each mistake that it could have; "" where it is without it."""
        return find_mistakes(self.text, self.hypotheses, self.cut_off)

    @property
    def mistake_counts(self) -> dict[str, dict[str, int]]:
        """For each mistake, the `count` of sentences with it, and `of` how many that could have it."""
        counts = {}
        for name in MEANINGS:
            possible = [notes[name] for notes in self.mistakes if name in notes]
            counts[name] = {"count": len([note for note in possible if note]), "of": len(possible)}
        return counts

    @cached_property
    def sentence_chrf(self) -> list[float]:
        """The chrF of each sentence on raw text."""
        return sentence_chrf(self.hypotheses, self.text.references)


def distinct_names(sets: Sequence[ScoredSet]) -> list[str]:
    """Return a name for the system of each set of one test set: the run, with its label and a number if needed."""
    system_counts = Counter(scored.system for scored in sets)
    name_counts: Counter[str] = Counter()  # so far
    names: list[str] = []
    for scored in sets:
        name = scored.system
        if system_counts[name] > 1:
            name = f"{name} {scored.checkpoint} {scored.search}".strip()
        name_counts[name] += 1
        names.append(name if name_counts[name] == 1 else f"{name} ({name_counts[name]})")
    return names


# --- the folder of a test set ---


def saved_text(set_folder: Path) -> HeldOutSet | None:
    """Return the text in the folder of a test set; None if there is none. Raises RunError: it is damaged."""
    if not (set_folder / SOURCE_FILE).is_file():
        return None
    sources = _read_lines(set_folder / SOURCE_FILE)
    sides: list[list[str]] = []  # the first references of all sentences, then the second, and so on
    while (file := set_folder / _reference_file(len(sides) + 1)).is_file():
        sides.append(_read_lines(file))
    if {len(side) for side in sides} != {len(sources)}:  # also if there is no reference
        raise _damaged(set_folder, "the numbers of lines differ")
    # A sentence may have fewer references than another; in the files, empty lines stand for those that it lacks.
    references: list[tuple[str, ...]] = []
    for first, *extra in zip(*sides, strict=True):
        references.append((first, *filter(None, extra)))
    return HeldOutSet(
        name=set_folder.name,
        sources=tuple(sources),
        references=tuple(references),
        origins=(set_folder.name,) * len(sources),
    )


def _read_lines(file: Path) -> list[str]:
    with storage_errors(file, "read"):
        content = file.read_bytes()
    try:
        return content.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise _damaged(file.parent, str(error)) from error


def _damaged(set_folder: Path, reason: str) -> RunError:
    return RunError(f"{set_folder} is damaged ({reason}); delete it and evaluate again")


def _reference_file(number: int) -> str:
    return "reference.txt" if number == 1 else f"reference-{number}.txt"


def save_set(folder: Path, scored: ScoredSet, own_names: Sequence[str] = ()) -> None:
    """Save a translated test set in an evaluation folder, and its scores in scores.json.

    Args:
        folder: the evaluation folder; it must not have another text with the name of this test set.
        scored: what to save; translations with the same label are replaced.
        own_names: the run's own test sets, whose scores come first, in this order.
    """
    # `saved_text` takes a folder with a source as whole, so the source is written after all references.
    files = {}
    for number, side in enumerate(zip_longest(*scored.text.references, fillvalue=""), start=1):
        files[_reference_file(number)] = side
    files[SOURCE_FILE] = scored.text.sources
    files[f"{scored.checkpoint}.{scored.search}.txt"] = scored.hypotheses
    for name, lines in files.items():
        write_text(folder / scored.text.name / name, "".join(f"{line}\n" for line in lines))
    add_scores(folder, scored.scores, own_names)


def saved_sets(folder: Path, system: str) -> list[ScoredSet]:
    """Return the translated test sets in an evaluation folder, in the order of scores.json: the newest label first.

    Scores whose translations are gone are left out.

    Args:
        folder: evaluation folder of a run.
        system: name of the run.

    Raises RunError: a file is damaged.
    """
    scores_of_sets: dict[tuple[str, str], list[Score]] = {}
    for score in saved_scores(folder):
        scores_of_sets.setdefault((score.test_set, score.label), []).append(score)
    sets = []
    for scores in scores_of_sets.values():
        checkpoint, search = scores[0].checkpoint, scores[0].search
        set_folder = folder / scores[0].test_set
        translations_file = set_folder / f"{checkpoint}.{search}.txt"
        text = saved_text(set_folder)
        if text is None or not translations_file.is_file():
            continue
        hypotheses = _read_lines(translations_file)
        if {len(text.sources), len(hypotheses)} != {scores[0].sentences}:
            raise _damaged(set_folder, "the numbers of lines differ")
        scored = ScoredSet(
            text=replace(text, left_out=scores[0].left_out),
            system=checkpoint if search == FOREIGN else system,  # the checkpoint of a foreign set is the program's name
            checkpoint=checkpoint,
            search=search,
            hypotheses=tuple(hypotheses),
            scores=tuple(scores),
        )
        sets.append(scored)
    return sets


# --- scores.json ---


def saved_scores(folder: Path) -> list[Score]:
    """Return the scores in an evaluation folder, if any, newest first; raise RunError if the file is damaged."""
    path = folder / "scores.json"
    with storage_errors(path, "read"):
        if not path.exists():
            return []
        content = path.read_bytes()
    try:
        return read_record(_SCORES, content)
    except RecordError as error:
        raise RunError(error.about(path, "delete it and evaluate again")) from error


def add_scores(folder: Path, scores: Sequence[Score], own_names: Sequence[str] = ()) -> None:
    """Add `scores` to scores.json in `folder`; they replace older ones of the same setting.

    Scores of the run's own test sets come before those of other texts, in the order of `own_names`. Of the scores of a
    test set, the newest come first.

    Raises RunError: the file is damaged; it stays unchanged.
    """
    replaced_settings = {score.setting for score in scores}
    ranks = {name: rank for rank, name in enumerate(own_names)}
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    # Two evaluations of a run may end at the same time, and neither may lose the scores of the other.
    with locked(folder):
        merged = list(scores)
        for score in saved_scores(folder):
            if score.setting not in replaced_settings:
                merged.append(score)
        merged.sort(key=lambda score: ranks.get(score.test_set, len(ranks)))  # stable: newest first
        write_json(folder / "scores.json", [asdict(score) for score in merged])
