"""Systems to compare: evaluated runs, and text files of translations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.held_out import HeldOutSet, held_out_set
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.reading.forms import TextFile
from translator.corpus.reading.lines import Unreadable
from translator.errors import InputError, RunError
from translator.evaluation.results import FOREIGN, ScoredSet, saved_sets, saved_text
from translator.run.folder import RunFolder
from translator.run.text import is_persian


def read_systems(
    places: Sequence[str],
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    test_sets: Sequence[str] = (),
) -> list[list[ScoredSet]]:
    """Return, for each test set that all systems translated, the results of the systems.

    Args:
        places: run folders, or text files with a translation per line.
        source: source text of the text files; by default that of the runs, or `source.txt` beside the first file.
        references: reference texts of the text files.
        test_sets: names of the test sets to compare on; by default all.

    Raises:
        InputError: there is one place only or a place is missing, text files lack source or references, or the systems
            share no test set.
        RunError: a run was not evaluated, or a folder holds no run.
    """
    if len(places) < 2:
        raise InputError("a comparison needs at least two systems; give another run or file of translations")
    if bool(source) != bool(references):
        raise InputError("text files need both --source FILE and --reference FILE [FILE ...]")

    # 1. Read the evaluated runs. Every other place is a text file.
    sets_of_runs = {place: _newest_sets(place) for place in places if Path(place).is_dir()}
    text_files = [place for place in places if place not in sets_of_runs]
    for place in text_files:
        if not Path(place).exists():
            raise InputError(f"{place} does not exist; give run folders or text files")

    # 2. Choose the texts. Text files translate only one: that of --source, of the runs, or of the files' own folder.
    if source is not None:
        # Of text files, --test-set gives the name of the text; runs must have a test set of this name and text.
        name = test_sets[0] if test_sets else Path(source).stem
        texts = [_text_of_files(name, Path(source), references)]
    elif sets_of_runs:
        texts = _shared_texts(sets_of_runs, test_sets)
    else:
        text_beside = saved_text(Path(text_files[0]).parent)
        if text_beside is None:
            raise InputError(f"{text_files[0]} is a text file: also give --source FILE and --reference FILE [FILE ...]")
        texts = [text_beside]
    if text_files and len(texts) > 1:
        raise InputError(
            f"{text_files[0]} is a text file, but the other systems have several test sets "
            f"({', '.join(text.name for text in texts)}); select the one that it translates with --test-set"
        )

    # 3. Collect the systems of each test set.
    systems_of_sets = []
    for text in texts:
        origin = source or f"test set {text.name}"  # of the text, for messages
        systems: list[ScoredSet] = []
        for place in places:
            if place not in sets_of_runs:
                systems.append(_set_of_file(Path(place), text, origin))
            elif text.name in sets_of_runs[place]:
                systems.append(sets_of_runs[place][text.name])
            else:
                raise InputError(f"{place} has no translations of `{text.name}`; evaluate it on that test set")
        systems_of_sets.append(systems)
    return systems_of_sets


def languages_of(references: Iterable[str]) -> Languages:
    """Return source and target language, Persian being the target if a reference is Persian."""
    return (ENGLISH, PERSIAN) if any(map(is_persian, references)) else (PERSIAN, ENGLISH)


# --- evaluated runs ---


def _newest_sets(folder: Path | str) -> dict[str, ScoredSet]:
    """Return the latest translations of a run by test set; raise RunError if there is no run, or no translations."""
    run = RunFolder.open(folder)
    sets: dict[str, ScoredSet] = {}
    for scored in saved_sets(run.evaluation_folder, run.path.resolve().name):
        if scored.search != FOREIGN:
            sets.setdefault(scored.text.name, scored)  # the first is the newest
    if not sets:
        raise RunError(f"{run.path} has no translated test sets; make them: translator evaluate --run {run.path}")
    return sets


def _shared_texts(sets_of_runs: Mapping[str, Mapping[str, ScoredSet]], test_sets: Sequence[str]) -> list[HeldOutSet]:
    """Return the test sets that all runs translated; only those in `test_sets`, if it names some.

    Raises InputError: one of `test_sets` is not shared, or none is.
    """
    first_sets, *other_sets = sets_of_runs.values()
    shared_names = [name for name in first_sets if all(name in sets for sets in other_sets)]
    missing_names = [name for name in test_sets if name not in shared_names]
    if missing_names or not shared_names:
        translated = "; ".join(f"{place}: {', '.join(sets)}" for place, sets in sets_of_runs.items())
        subject = f"test set {', '.join(missing_names)} was not" if missing_names else "no test set was"
        raise InputError(f"{subject} translated by all systems ({translated}); evaluate all on it")
    return [first_sets[name].text for name in dict.fromkeys(test_sets or shared_names)]


# --- text files ---


def _text_of_files(name: str, source: Path, references: Sequence[str]) -> HeldOutSet:
    """Return the test set in text files; lines without a source or a reference are left out, as in `evaluate`."""
    sources = _read_lines(source)
    sides = [_read_lines(Path(file), [len(sources)], str(source)) for file in references]
    normalizer = Normalizer(NormalizationConfig(), languages_of(chain.from_iterable(sides)))
    return held_out_set(name, zip(sources, zip(*sides, strict=True), strict=True), normalizer)


def set_of_file(path: Path, text: HeldOutSet, system: str) -> ScoredSet:
    """Return the translations of a test set by another program, from a text file; `system` is the program's name."""
    if not path.exists():
        raise InputError(f"--hypotheses {system}={path}: {path} does not exist")
    scored = _set_of_file(path, text, f"test set {text.name}")
    return replace(scored, system=system, checkpoint=system, search=FOREIGN)


def _set_of_file(path: Path, text: HeldOutSet, origin: str) -> ScoredSet:
    """Return the translations in a text file: of every line of the test set, or of the scored ones only."""
    line_count = len(text.sources) + len(text.left_out)
    hypotheses = _read_lines(path, [line_count, len(text.sources)], origin)
    # A file with all lines also has those that are not scored: leave them out.
    if len(hypotheses) == line_count:
        hypotheses = [line for number, line in enumerate(hypotheses, start=1) if number not in text.left_out]
    return ScoredSet(text=text, system=path.name, hypotheses=tuple(hypotheses))


def _read_lines(path: Path, fitting_counts: Sequence[int] = (), origin: str = "") -> list[str]:
    """Return the lines of a text file; a line that cannot be read is blank.

    Args:
        path: the file, plain or compressed.
        fitting_counts: the numbers of lines that it may have; the message names the first. Empty: any number but 0.
        origin: the text that has as many lines, for the message.

    Raises InputError: the number of lines is wrong.
    """
    # Line N is sentence N, so blank lines stay.
    lines = ["" if isinstance(line, Unreadable) else line for line in TextFile(path).lines()]
    if not lines or (fitting_counts and len(lines) not in fitting_counts):
        requirement = f", {origin} {fitting_counts[0]:,}: line N must be the same sentence in both" if origin else ""
        raise InputError(f"{path} has {len(lines):,} lines{requirement}")
    return lines
