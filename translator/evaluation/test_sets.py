"""Test sets of an evaluation, from the run or from files: their names, and leaks from training."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Final

from pydantic_core import from_json
from tqdm import tqdm

from translator.config import Config
from translator.corpus.held_out import (
    HeldOutSet,
    HeldOutSplit,
    held_out_argument,
    left_out_note,
    read_held_out,
    read_held_out_folder,
)
from translator.corpus.normalizer.normalizer_file import normalizer_of_run
from translator.corpus.preparation_counts import CorpusReport
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.selecting.folding import fold
from translator.errors import InputError
from translator.evaluation.results import saved_text
from translator.run.files import prepared_folder
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, progress_bar

_FINAL_MARK: Final = re.compile(r"(?P<space>\s)?[.!?؟]\s*\Z")  # of a sentence, and a space before it
_TOKENIZED_SHARE: Final = 0.5  # of the final marks: at least so many have a space before them in tokenized text
_FEWEST_TOKENIZED: Final = 3  # final marks with a space before them


def chosen_test_sets(run: RunFolder, config: Config, named: Sequence[str], split: HeldOutSplit) -> list[HeldOutSet]:
    """Return the test sets of an evaluation.

    Args:
        run: its held-out text is the default.
        config: its configuration, with the overrides of the user.
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
        _warn_of_tokenized_references(test_set)
        if test_set.left_out:
            note = left_out_note(len(test_set.sources), test_set.left_out)
            LOGGER.warning(f"test set `{test_set.name}`: {note}: no source text, or no reference")
    return test_sets


def _warn_of_tokenized_references(test_set: HeldOutSet) -> None:
    """Warn if many references end in " .", as tokenized text does; sacreBLEU checks only the translations for this."""
    matches = map(_FINAL_MARK.search, chain.from_iterable(test_set.references))
    ends = [match for match in matches if match is not None]
    tokenized_count = sum(end["space"] is not None for end in ends)
    if tokenized_count >= max(_FEWEST_TOKENIZED, _TOKENIZED_SHARE * len(ends)):
        LOGGER.warning(
            f"test set `{test_set.name}`: the references look tokenized: {tokenized_count:,} of {len(ends):,} "
            "sentences end in a space and a mark, as in ` .`; detokenize them, since scores of raw text count each "
            "such mark as wrong"
        )


# --- names ---


def own_texts(run: RunFolder, split: HeldOutSplit) -> dict[str, HeldOutSet]:
    """Return the run's own test or validation text, by the name of each test set; empty for an export.

    Raises RunError: the text is damaged.
    """
    if not (run.held_out_folder / f"{split}.json").exists():
        return {}
    return {text.name: text for text in read_held_out_folder(run.held_out_folder, split)}


def refuse_other_text(text: HeldOutSet, texts_of_run: Mapping[str, HeldOutSet], folder: Path) -> None:
    """Raise InputError if another text already has the name of `text` in an evaluation folder.

    Args:
        text: the test set to evaluate.
        texts_of_run: the run's own texts, by name; their names are taken even before they are evaluated.
        folder: evaluation folder of the run.
    """
    for namesake in (texts_of_run.get(text.name), saved_text(folder / text.name)):
        if namesake is not None and (namesake.sources, namesake.references) != (text.sources, text.references):
            raise InputError(
                f"{folder} has another text called `{text.name}`; give this one another name: --test-set NAME=PATH"
            )


# --- the training text ---


def warn_of_leaks(run: RunFolder, texts: Sequence[HeldOutSet]) -> None:
    """Warn of test sets that share sentences with the training text of a run, if that is on this disk."""
    corpus = _prepared_corpus_of(run)
    if corpus is None:
        LOGGER.info("the prepared corpus of %s is not on this disk: leaks into training are not checked", run.path)
        return

    # 1. Collect all sources and references of the test sets, folded.
    test_lines: set[str] = set()
    for text in texts:
        test_lines.update(map(fold, chain(text.sources, *text.references)))
    test_lines.discard("")  # a line without words is no leak

    # 2. Look for them in the training text.
    leaked_lines: set[str] = set()  # folded
    total = len(corpus.sides) * sum(corpus.count("train", name) for name in corpus.names("train"))
    progress: tqdm[object] = progress_bar(description="reading the training text", total=total, unit="lines")
    with progress:
        for name, side in product(corpus.names("train"), corpus.sides):
            for line in corpus.lines("train", name, side):
                folded = fold(line)
                if folded in test_lines:
                    leaked_lines.add(folded)
                progress.update()

    # 3. Count the test sentences whose source or reference is in the training text.
    for text in texts:
        leaked_count = 0
        for source, references in zip(text.sources, text.references, strict=True):
            if any(fold(line) in leaked_lines for line in (source, *references)):
                leaked_count += 1
        if leaked_count:
            LOGGER.warning(
                f"{run.path} was trained on {leaked_count} of the {len(text.sources)} sentences of test set "
                f"`{text.name}` (their source or a reference): the score does not measure generalization"
            )


def _prepared_corpus_of(run: RunFolder) -> PreparedCorpus | None:
    """Return the text that the run was trained on; None if it is not on this disk, or is damaged."""
    config = run.config()
    try:
        report = from_json((run.preparation_folder / "report.json").read_bytes())
        folder = prepared_folder(config.corpus.prepared_directory, "corpus", str(report["corpus"]["fingerprint"]))
        counts = CorpusReport.from_json((folder / "report.json").read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return PreparedCorpus(folder, counts, config.corpus.languages)
