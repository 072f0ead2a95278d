"""The systems of a comparison, from what a person names: run folders, saved sentences, plain text files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from translator.errors import InputError
from translator.evaluation.comparison.saved_sets import newest_sets
from translator.evaluation.comparison.text_files import read_translated_file, translated_by
from translator.evaluation.scored_set import ENDING, ScoredSet, read_scored_set
from translator.foreign_folder import PICKLES


def read_systems(
    places: Sequence[str],
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    test_sets: Sequence[str] = (),
    checkpoint: str | None = None,
    search: str | None = None,
) -> list[list[ScoredSet]]:
    """Return the systems side by side, once for each test set that all of them translated.

    Args:
        places: run folders, files of saved sentences (`*.sentences.jsonl`), or text files of translations.
        source: English text of the text files; without it, they are of a test set that the others have.
        references: Persian texts of the text files.
        test_sets: only these.
        checkpoint, search: which evaluation of the run folders, see `newest_sets`.

    Raises:
        InputError: a place does not exist, text files lack source or references, files differ in length, or there is no
            test set that all have.
        RunError: a run was not evaluated, or a folder holds no run.
        StorageError: a file cannot be read.
    """
    if bool(source) != bool(references):
        raise InputError("text files need both, --source FILE and --reference FILE [FILE ...]")
    known: dict[int, Mapping[str, ScoredSet]] = {}
    texts: list[int] = []
    for number, place in enumerate(places):
        path = Path(place)
        if path.is_dir() or path.suffix.lower() in PICKLES:  # what is named like a pickle is refused as such
            known[number] = newest_sets(path, checkpoint, search)
        elif not path.exists():
            raise InputError(
                f"there is no {path}; name run folders, files of saved sentences, or files of translations"
            )
        elif path.name.endswith(ENDING):
            scored = read_scored_set(path)
            known[number] = {scored.test_set: scored}
        else:
            texts.append(number)
    if texts and source is None and not known:
        raise InputError(f"{places[texts[0]]} is a text file: name --source FILE and --reference FILE [FILE ...] too")
    shared = _shared_test_sets({places[number]: sets for number, sets in known.items()}, test_sets)
    if texts and known and len(shared) > 1:
        raise InputError(
            f"{places[texts[0]]} is a text file, and the other systems have translated several test sets "
            f"({', '.join(shared)}); say which of them it translates with --test-set"
        )
    if not known:
        shared = list(test_sets[:1]) or [Path(source or "").stem]
    return [
        [
            known[number][name]
            if number in known
            else _of_text_file(Path(places[number]), name, source, references, known)
            for number in range(len(places))
        ]
        for name in shared
    ]


def _shared_test_sets(systems: Mapping[str, Mapping[str, ScoredSet]], wanted: Sequence[str]) -> list[str]:
    """Return the test sets that all have, in the order of the first."""
    if not systems:
        return []
    there = [list(sets) for sets in systems.values()]
    shared = [name for name in there[0] if all(name in sets for sets in there)]
    chosen = [name for name in shared if not wanted or name in wanted]
    missing = [name for name in wanted if name not in shared]
    if missing or not chosen:
        lists = "; ".join(f"{place}: {', '.join(sets)}" for place, sets in systems.items())
        what = f"test set {', '.join(missing)} was" if missing else "no test set was"
        raise InputError(f"{what} {'not ' if missing else ''}translated by all systems ({lists}); evaluate them on it")
    return chosen


def _of_text_file(
    path: Path,
    test_set: str,
    source: str | None,
    references: Sequence[str],
    known: Mapping[int, Mapping[str, ScoredSet]],
) -> ScoredSet:
    if source is not None:
        return read_translated_file(path, test_set, Path(source), [Path(file) for file in references])
    example = next(iter(known.values()))[test_set]
    return translated_by(path, test_set, example.sources, example.references, f"test set {test_set}")
