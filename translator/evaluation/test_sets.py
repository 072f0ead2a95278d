"""Test sets of an evaluation, from the run or from files: their names, their languages, leaks from training."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from pydantic_core import from_json
from tqdm import tqdm

from translator.config import Config
from translator.config.corpus_section import ENGLISH, PERSIAN
from translator.corpus.folding import fold
from translator.corpus.held_out import (
    HeldOutSet,
    HeldOutSplit,
    held_out_argument,
    left_out_note,
    read_held_out,
    read_held_out_folder,
)
from translator.corpus.normalizer import Normalizer
from translator.corpus.normalizer_file import normalizer_of_run
from translator.corpus.preparation_counts import CorpusReport
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.scripts import arabic_script_share, arabic_share, latin_share
from translator.errors import CorpusError, InputError
from translator.evaluation.results import read_scores, read_text_sides, text_sides
from translator.evaluation.robustness import WAYS
from translator.evaluation.systems import System
from translator.run.files import prepared_folder
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, progress_bar

_LOOKED_AT: Final = 2000  # sentences for recognising the languages
_FEW: Final = 0.1  # share of letters below which a text is in another script
_MOSTLY: Final = 0.5  # share of Arabic words above which a text is Arabic
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_END: Final = re.compile(r"(?P<space>\s)?[.!?؟]\s*\Z")  # of a sentence
_TOKENIZED: Final = 0.5  # share of the ends of sentences that have a space before them
_FEWEST_TOKENIZED: Final = 3
_HASH_DIGITS: Final = 8  # that tell two texts of one name apart

Sides = Mapping[str, bytes]
"""The text of a test set, as `text_sides` returns it."""


def chosen_test_sets(run: RunFolder, config: Config, named: Sequence[str], split: HeldOutSplit) -> list[HeldOutSet]:
    """Return the test sets of an evaluation.

    Args:
        run: its held-out text is the default.
        named: test sets of the user, as `held_out_argument` takes them; they replace the held-out text.
        split: the part of the held-out text.

    Raises:
        RunError: the held-out text is missing or damaged.
        CorpusError: a named test set cannot be read, or is in another script.
        InputError: a named test set is missing, or two have one name.
    """
    normalizer = normalizer_of_run(run, config)
    if named:
        test_sets = [read_held_out(held_out_argument(argument), normalizer) for argument in named]
    else:
        test_sets = read_held_out_folder(run.held_out_folder, split)

    # Results are found by name, and a user who gives two texts one name has to say which is which.
    for name, count in Counter(test_set.name for test_set in test_sets).items():
        if count > 1:
            raise InputError(f"two test sets are called `{name}`; name them: --test-set NAME=PATH")
    for test_set in test_sets:
        check_languages(test_set, normalizer, refuse=bool(named))
        _warn_of_tokenized_references(test_set)
        if test_set.left_out:
            note = left_out_note(len(test_set.sources), test_set.left_out)
            LOGGER.warning(f"test set `{test_set.name}`: {note}: no source text, or no reference")
    return test_sets


# --- names ---


def sides_of(test_set: HeldOutSet) -> Sides:
    """Return the text of a test set."""
    return text_sides(test_set.sources, test_set.references)


def sides_of_test_split(run: RunFolder) -> dict[str, Sides]:
    """Return the run's own test text, by the name of each test set; empty for an export.

    Raises RunError: the text is damaged.
    """
    return _text_of_split(run, "test")


def _text_of_split(run: RunFolder, split: HeldOutSplit) -> dict[str, Sides]:
    if not (run.held_out_folder / f"{split}.jsonl").exists():
        return {}
    return {test_set.name: sides_of(test_set) for test_set in read_held_out_folder(run.held_out_folder, split)}


def with_distinct_names(test_sets: Sequence[HeldOutSet], systems: Sequence[System]) -> list[HeldOutSet]:
    """Return the test sets with names that no other text has in the results of these systems.

    A name belongs to the test set of a run's own, then to its validation text, then to the text that was evaluated
    first. Another text of that name is called `NAME-HASH`, by a hash of the text: the same each time.

    Raises RunError: the held-out text or the scores of a run are damaged.
    """
    places = [_NamedTexts.of(system) for system in systems]
    renamed: list[HeldOutSet] = []
    for test_set in test_sets:
        # One system whose results have another text of that name is enough: comparisons need one name.
        sides = sides_of(test_set)
        reason = ""
        for place in places:
            reason = reason or place.taken(test_set.name, sides)
        if reason:
            name = f"{test_set.name}-{_hash_of(sides)}"
            LOGGER.warning(f"test set `{test_set.name}` is called `{name}` in the results, since {reason}")
            test_set = replace(test_set, name=name)
        renamed.append(test_set)
    return renamed


class _NamedTexts(NamedTuple):
    """The texts that have a name in the results of a system."""

    run: RunFolder
    folder: Path  # of the results
    held_out: Mapping[str, Sides]  # text of the run's own
    scored_names: Collection[str]  # in scores.json

    @classmethod
    def of(cls, system: System) -> "_NamedTexts":
        """Read them."""
        run = system.runs[0]
        held_out: dict[str, Sides] = {}
        # A separate folder has no results on the run's own text that could be mistaken.
        if system.results is None:
            held_out = _text_of_split(run, "validation") | _text_of_split(run, "test")
        return cls(
            run=run,
            folder=system.folder,
            held_out=held_out,
            scored_names={score.test_set for score in read_scores(system.folder)},
        )

    def taken(self, name: str, sides: Sides) -> str:
        """Return why a text cannot have this name; "" if it can."""
        for way in WAYS:
            if name.endswith(f".{way}"):
                return f"the results with noisy input end in `.{way}`"
        # The text of the run itself has its name, evaluated or not, and whatever the folder has.
        if name in self.held_out:
            return "" if self.held_out[name] == sides else f"{self.run.path} has another text of that name"
        saved_sides = read_text_sides(self.folder, name)
        if (saved_sides or name in self.scored_names) and saved_sides != sides:
            return f"{self.folder} has results on another text of that name"
        return ""


def _hash_of(sides: Sides) -> str:
    digest = hashlib.sha256()
    for side, content in sides.items():
        digest.update(f"{side} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:_HASH_DIGITS]


# --- languages ---


def check_languages(held_out: HeldOutSet, normalizer: Normalizer, *, refuse: bool) -> None:
    """Warn if the sides are not English and Persian; with `refuse`, raise CorpusError for another script."""
    source, target = normalizer.languages
    sides = [(f"the {source.name} side", held_out.sources, source)]
    reference_sides = list(zip_longest(*held_out.references, fillvalue=""))
    for number, texts in enumerate(reference_sides, start=1):
        label = f"reference {number}" if len(reference_sides) > 1 else "reference"
        sides.append((label, texts, target))

    for label, texts, language in sides:
        looked_at = texts[:_LOOKED_AT]
        share_of, letters = (latin_share, "Latin") if language == ENGLISH else (arabic_script_share, "Persian")
        share = share_of("".join(looked_at))
        is_other_script = share < _FEW
        if is_other_script:
            problem = f"is in another language: {share:.0%} of its letters are {letters}"
        elif language == PERSIAN and _is_arabic(
            looked_at, normalizer.source if language == source else normalizer.target
        ):
            problem = "looks like Arabic, not Persian"
        else:
            continue
        message = f"test set `{held_out.name}`: {label} {problem}; check the files, since its scores are not meaningful"
        if is_other_script and refuse:
            raise CorpusError(message)
        LOGGER.warning(message)


def _warn_of_tokenized_references(test_set: HeldOutSet) -> None:
    """Warn if the references look tokenized: " ." ends many of their lines. sacreBLEU warns of translations so."""
    ends: list[re.Match[str]] = []
    for references in test_set.references:
        ends += filter(None, map(_END.search, references))
    tokenized = sum(end["space"] is not None for end in ends)
    if tokenized >= max(_FEWEST_TOKENIZED, _TOKENIZED * len(ends)):
        LOGGER.warning(
            f"test set `{test_set.name}`: the references look tokenized: {tokenized:,} of {len(ends):,} sentences end "
            "in a space and a mark, as in ` .`; detokenize them, since scores of raw text count each such mark as wrong"
        )


def _is_arabic(texts: Sequence[str], normalize: Callable[[str], str]) -> bool:
    words: list[str] = []
    for text in texts:
        words += normalize(text).split()
    return arabic_share(words) > _MOSTLY


# --- the training text ---


def look_into_training(
    run: RunFolder, sets: Sequence[HeldOutSet], rare_below: int, *, leaks: bool
) -> dict[str, tuple[float, ...]]:
    """Return, by the name of each set, the share of rare words in each source; empty if it is unknown.

    Reads the prepared training text of the run, if it is on this disk. A word is rare if it occurs there fewer than
    `rare_below` times, in any case. With `leaks`, warns of sets that share sentences with the training text.
    """
    config = run.config()
    corpus = _prepared_corpus_of(run, config)
    if corpus is None:
        message = "the prepared corpus of %s is not on this disk: leaks into training and rare words are not checked"
        LOGGER.info(message, run.path)
        return {}

    # 1. Collect what to look for: the words of the sources, and the folded sides of all sentences.
    normalizer = Normalizer(config.corpus.normalization, config.corpus.languages)
    source_words: dict[str, list[list[str]]] = {}
    vocabulary: set[str] = set()
    folded_sides: set[str] = set()
    for test_set in sets:
        source_words[test_set.name] = [_words(normalizer.source(text)) for text in test_set.sources]
        for words in source_words[test_set.name]:
            vocabulary.update(words)
        if leaks:
            for texts in (test_set.sources, *test_set.references):
                folded_sides.update(map(fold, texts))
    folded_sides.discard("")

    # 2. Look for it.
    findings = _search_training(corpus, vocabulary, folded_sides)
    for test_set in sets:
        _warn_of_leaks(run, test_set, findings.folded_sides)
    shares: dict[str, tuple[float, ...]] = {}
    for name, sentences in source_words.items():
        shares[name] = tuple(_rare_share(words, findings.word_counts, rare_below) for words in sentences)
    return shares


def _prepared_corpus_of(run: RunFolder, config: Config) -> PreparedCorpus | None:
    """Return the text that the run was trained on; None if it is not on this disk."""
    try:
        report = from_json((run.preparation_folder / "report.json").read_bytes())
        fingerprint = str(report["corpus"]["fingerprint"])
        folder = prepared_folder(config.corpus.prepared_directory, "corpus", fingerprint)
        counts = CorpusReport.from_json((folder / "report.json").read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return PreparedCorpus(folder, fingerprint, counts, config.corpus.languages)


def _warn_of_leaks(run: RunFolder, test_set: HeldOutSet, trained_sides: Collection[str]) -> None:
    """Warn if the source or a reference of some sentences, folded, is among `trained_sides`."""
    leaked = 0
    for source, references in zip(test_set.sources, test_set.references, strict=True):
        leaked += any(fold(text) in trained_sides for text in (source, *references))
    if leaked:
        LOGGER.warning(
            f"{run.path} was trained on {leaked} of the {len(test_set.sources)} sentences of test set "
            f"`{test_set.name}` (their source or a reference): the score does not measure generalization"
        )


def _rare_share(words: Sequence[str], counts: Mapping[str, int], rare_below: int) -> float:
    if not words:
        return 0.0
    return sum(counts[word] < rare_below for word in words) / len(words)


class _Findings(NamedTuple):
    """What a training text has of the text of test sets."""

    word_counts: Counter[str]
    folded_sides: set[str]


def _search_training(corpus: PreparedCorpus, vocabulary: set[str], folded_sides: set[str]) -> _Findings:
    """Return counts of the words of `vocabulary` in the training text, and those of `folded_sides` that are in it."""
    findings = _Findings(Counter(), set())
    source_side, target_side = corpus.sides
    total = sum(corpus.count("train", name) for name in corpus.names("train"))
    progress: tqdm[object] = progress_bar(description="reading the training text", total=total, unit="pairs")
    with progress:
        for name in corpus.names("train"):
            # Both words and whole sentences of the source side, in one pass.
            for line in corpus.lines("train", name, source_side):
                findings.word_counts.update(word for word in _words(line) if word in vocabulary)
                folded = fold(line) if folded_sides else ""
                if folded in folded_sides:
                    findings.folded_sides.add(folded)
                progress.update()
            if folded_sides:
                target_sides = map(fold, corpus.lines("train", name, target_side))
                findings.folded_sides.update(folded for folded in target_sides if folded in folded_sides)
    return findings


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
