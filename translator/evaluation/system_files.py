"""Systems to compare, read from the files they left: run folders, saved sentences, or text files of translations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from translator.checkpoint.state import find_checkpoint
from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.compression import read_blocks
from translator.corpus.held_out import HeldOutSet, held_out_set
from translator.corpus.lines import LONGEST_LINE, Unreadable, read_lines
from translator.corpus.normalizer import Normalizer
from translator.errors import CheckpointError, InputError, RunError
from translator.evaluation.results import ENDING, ScoredSet, read_scored_set, saved_scores
from translator.run.arabic_shaping import is_persian
from translator.run.folder import RunFolder


def read_systems(
    places: Sequence[str],
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    test_sets: Sequence[str] = (),
    checkpoint: str | None = None,
    search: str | None = None,
) -> list[list[ScoredSet]]:
    """Return, for each test set that all systems translated, the results of the systems.

    Args:
        places: run folders, files of sentences (`*.sentences.jsonl`), or text files with a translation per line.
        source: source text of the text files; by default that of the other systems.
        references: reference texts of the text files.
        test_sets: names of the test sets to compare on; by default all.
        checkpoint, search: which evaluation of the run folders, see `newest_sets`.

    Raises:
        InputError: a place is missing, text files lack source or references, or the systems share no test set.
        RunError: a run was not evaluated, or a folder holds no run.
    """
    if bool(source) != bool(references):
        raise InputError("text files need both --source FILE and --reference FILE [FILE ...]")

    # 1. Read the saved sets. Every other place is a text file.
    saved_sets = _read_saved_sets(places, checkpoint, search)
    text_places = [place for place in places if place not in saved_sets]
    if text_places and source is None and not saved_sets:
        raise InputError(f"{text_places[0]} is a text file: also give --source FILE and --reference FILE [FILE ...]")

    # 2. Choose the test sets. A text file translates only one.
    if saved_sets:
        names = _shared_test_sets(saved_sets, test_sets)
    elif test_sets:
        names = [test_sets[0]]
    else:
        names = [Path(source or "").stem]
    if text_places and len(names) > 1:
        raise InputError(
            f"{text_places[0]} is a text file, but the other systems have several test sets "
            f"({', '.join(names)}); select the one that it translates with --test-set"
        )

    # 3. Collect the systems of each test set.
    systems_by_set = []
    for name in names:
        if source is not None:
            test_set = _text_test_set(name, source, references)
        else:
            # A text file translates the sentences of the other systems.
            first = next(iter(saved_sets.values()))[name]
            test_set = HeldOutSet(
                name=name,
                sources=first.sources,
                references=first.references,
                origins=first.origins,
                left_out=first.left_out,
            )
        systems = []
        for place in places:
            if place in saved_sets:
                systems.append(saved_sets[place][name])
            else:
                systems.append(_text_system(Path(place), test_set, source or f"test set {name}"))
        systems_by_set.append(systems)
    return systems_by_set


def languages_of(references: Iterable[str]) -> Languages:
    """Return source and target language, Persian being the target if a reference is Persian."""
    return (ENGLISH, PERSIAN) if any(map(is_persian, references)) else (PERSIAN, ENGLISH)


# --- run folders and files of saved sentences ---


def _read_saved_sets(
    places: Sequence[str], checkpoint: str | None, search: str | None
) -> dict[str, Mapping[str, ScoredSet]]:
    """Return the sets by place and test set, for all places but text files; raise InputError for a missing place."""
    saved_sets: dict[str, Mapping[str, ScoredSet]] = {}
    for place in dict.fromkeys(places):
        path = Path(place)
        if path.is_dir():
            saved_sets[place] = newest_sets(path, checkpoint, search)
        elif not path.exists():
            raise InputError(f"{path} does not exist; give run folders, files of saved sentences or text files")
        elif path.name.endswith(ENDING):
            scored = read_scored_set(path)
            saved_sets[place] = {scored.test_set: scored}
    return saved_sets


class _SavedSet(NamedTuple):
    """A translated test set of a run, as its scores name it."""

    test_set: str
    checkpoint: str
    search: str

    @property
    def name(self) -> str:
        """Name of the file, without its ending."""
        return f"{self.test_set}.{self.checkpoint}.{self.search}"


def newest_sets(folder: Path | str, checkpoint: str | None = None, search: str | None = None) -> dict[str, ScoredSet]:
    """Return the latest translations of a run by test set, for one checkpoint and search or for any.

    Args:
        checkpoint: `best`, `last`, `averaged`, a name or a step number.
        search: label of the search settings, for example `beam-5`.

    Raises RunError: the folder holds no run, or no such translations.
    """
    run = RunFolder.open(folder)
    checkpoint_names = _checkpoint_names(run, checkpoint)

    # Scores are saved newest first, so the first file of a test set is its latest.
    saved = []
    chosen_files: dict[str, Path] = {}
    for record in dict.fromkeys(
        _SavedSet(score.test_set, score.checkpoint, score.search) for score in saved_scores(run)
    ):
        file = run.evaluation_folder / f"{record.name}{ENDING}"
        if not file.is_file():
            continue
        saved.append(record.name)

        # Take the file if it has the checkpoint and the search, and is the first of its test set.
        has_checkpoint = checkpoint is None or record.checkpoint in checkpoint_names
        has_search = search is None or record.search == search
        if has_checkpoint and has_search:
            chosen_files.setdefault(record.test_set, file)
    if not chosen_files:
        raise _no_sentences(run, checkpoint, search, saved)

    name = run.path.resolve().name  # the run may have been renamed
    return {test_set: replace(read_scored_set(file), system=name) for test_set, file in chosen_files.items()}


def _checkpoint_names(run: RunFolder, checkpoint: str | None) -> set[str]:
    """Return the names that `checkpoint` may have in saved scores."""
    if checkpoint is None:
        return set()
    try:
        name = find_checkpoint(run.checkpoints_folder, checkpoint).name
    except CheckpointError:  # the scored checkpoint may be deleted
        name = f"step-{checkpoint:0>6}"
    return {checkpoint, name}


def _no_sentences(run: RunFolder, checkpoint: str | None, search: str | None, saved: Sequence[str]) -> RunError:
    """Return the error for a run without the translations, with what it has and the command that makes them."""
    settings = " ".join(filter(None, (checkpoint, search)))
    which_sentences = f"translated sentences of {settings}" if settings else "translated sentences"
    available = f"; it has: {', '.join(saved[:10])}" if saved else ""
    command = f"translator evaluate --run {run.path}"
    if checkpoint:
        command += f" --checkpoint {checkpoint}"
    return RunError(f"{run.path} has no {which_sentences}{available}; make them: {command}")


def _shared_test_sets(systems: Mapping[str, Mapping[str, ScoredSet]], test_sets: Sequence[str]) -> list[str]:
    """Return the names of the test sets that all systems translated, or those of them in `test_sets`.

    Raises InputError: one of `test_sets` is not shared, or none is.
    """
    # The order is that of the first system.
    first_sets, *other_sets = systems.values()
    shared_names = [name for name in first_sets if all(name in sets for sets in other_sets)]
    chosen_names = [name for name in shared_names if not test_sets or name in test_sets]
    missing_names = [name for name in test_sets if name not in shared_names]
    if missing_names or not chosen_names:
        lists = "; ".join(f"{place}: {', '.join(sets)}" for place, sets in systems.items())
        what = f"test set {', '.join(missing_names)} was not" if missing_names else "no test set was"
        raise InputError(f"{what} translated by all systems ({lists}); evaluate all on it")
    return chosen_names


# --- text files ---


def _text_test_set(name: str, source: str, references: Sequence[str]) -> HeldOutSet:
    """Return the test set in a text file of sources and one or more of references; leaves out lines like `evaluate`."""
    sources = _read_lines(Path(source))
    sides = [_read_lines(Path(file), [len(sources)], source) for file in references]
    normalizer = Normalizer(NormalizationConfig(), languages_of(chain.from_iterable(sides)))
    return held_out_set(name, zip(sources, zip(*sides, strict=True), strict=True), normalizer)


def _text_system(path: Path, test_set: HeldOutSet, origin: str) -> ScoredSet:
    """Return the translations in a text file: of every line of the test set, or of the scored ones only."""
    sentence_count = len(test_set.sources)
    line_count = sentence_count + len(test_set.left_out)
    hypotheses = _read_lines(path, [line_count, sentence_count], origin)
    # Leave out the lines that no system is scored on.
    if len(hypotheses) == line_count:
        left_out = set(test_set.left_out)
        hypotheses = [text for number, text in enumerate(hypotheses, start=1) if number not in left_out]
    return ScoredSet(
        test_set=test_set.name,
        system=path.name,
        checkpoint="",
        search="",
        sources=test_set.sources,
        references=test_set.references,
        hypotheses=tuple(hypotheses),
        origins=test_set.origins,
        left_out=test_set.left_out,
        scores=(),
        rare_shares=(),
    )


def _read_lines(path: Path, fitting_counts: Sequence[int] = (), origin: str = "") -> list[str]:
    """Return the lines of a text file.

    Args:
        path: the file, for `translator.corpus.lines.read_lines`.
        fitting_counts: the numbers of lines that fit `origin`; empty: any number.
        origin: the text that the file has to fit, for the message.

    Raises InputError: the number of lines does not fit, or a line is too long.
    """
    # A text file of translations has blank lines, so none is dropped.
    parts = read_lines(read_blocks(path), str(path), drop_invalid=False)
    lines = list(chain.from_iterable(parts))
    for number, line in enumerate(lines, start=1):
        if line is Unreadable.LINE_TOO_LONG:
            raise InputError(f"{path}, line {number:,}: longer than {LONGEST_LINE >> 20} MiB; cut it into sentences")
    if not lines or (fitting_counts and len(lines) not in fitting_counts):
        requirement = ""
        if fitting_counts:
            requirement = f", {origin} {fitting_counts[0]:,}: line N must be the same sentence in both"
        raise InputError(f"{path} has {len(lines):,} lines{requirement}")
    return lines
