"""Test sets of an evaluation, from the run or from files; checks of their languages and of leaks from training."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from pydantic_core import from_json
from tqdm import tqdm

from translator.config import Config
from translator.config.corpus_section import ENGLISH, PERSIAN
from translator.corpus.folding import fold
from translator.corpus.held_out import (
    HeldOutSet,
    held_out_argument,
    left_out_note,
    read_held_out,
    read_held_out_folder,
)
from translator.corpus.normalizer import Normalizer
from translator.corpus.normalizer_file import normalizer_of_run
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.report import CorpusReport
from translator.corpus.scripts import arabic_script_share, arabic_share, latin_share
from translator.errors import CorpusError, InputError
from translator.run.folder import RunFolder, prepared_folder
from translator.run.logging import LOGGER, progress_bar

_LOOKED_AT: Final = 2000  # sentences for recognising the languages
_FEW: Final = 0.1  # share of letters below which a text is in another script
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")


def chosen_test_sets(run: RunFolder, config: Config, named: Sequence[str], split: str) -> list[HeldOutSet]:
    """Return the test sets of an evaluation: those `named` by a user, or a `split` of the held-out text."""
    normalizer = normalizer_of_run(run, config)
    if named:
        found = [read_held_out(held_out_argument(argument), normalizer) for argument in named]
    else:
        found = read_held_out_folder(run.held_out_folder, "validation" if split == "validation" else "test")
    for name, count in Counter(one.name for one in found).items():
        if count > 1:
            raise InputError(f"two test sets are called `{name}`; name them: --test-set NAME=PATH")
    for one in found:
        check_languages(one, normalizer, refuse=bool(named))
        if one.left_out:
            note = left_out_note(len(one.sources), one.left_out)
            LOGGER.warning(f"test set `{one.name}`: {note}: no source text, or no reference")
    return found


def check_languages(held_out: HeldOutSet, normalizer: Normalizer, *, refuse: bool) -> None:
    """Warn if the sides are not English and Persian; with `refuse`, raise CorpusError for another script."""
    source, target = normalizer.languages
    sides = [(f"the {source.name} side", held_out.sources, source)]
    reference_sides = list(zip_longest(*held_out.references, fillvalue=""))
    for number, texts in enumerate(reference_sides, start=1):
        of_several = f" {number}" if len(reference_sides) > 1 else ""
        sides.append((f"reference{of_several}", texts, target))
    for side, texts, language in sides:
        share_of, letters = (latin_share, "Latin") if language == ENGLISH else (arabic_script_share, "Persian")
        normalize = normalizer.source if language == source else normalizer.target
        share = share_of("".join(texts[:_LOOKED_AT]))
        words = " ".join(map(normalize, texts[:_LOOKED_AT])).split()
        if other := share < _FEW:
            what = f"is in another language: {share:.0%} of its letters are {letters}"
        elif language == PERSIAN and arabic_share(words) > 0.5:
            what = "looks like Arabic, not Persian"
        else:
            continue
        message = f"test set `{held_out.name}`: {side} {what}; check the files, since its scores are not meaningful"
        if other and refuse:
            raise CorpusError(message)
        LOGGER.warning(message)


def look_into_training(
    run: RunFolder, sets: Sequence[HeldOutSet], rare_below: int, *, leaks: bool
) -> dict[str, tuple[float, ...]]:
    """Return for each set, by name, the share of rare words in each source; nothing if it is unknown.

    Reads the prepared training text of the run, if it is on this disk. A word is rare if it occurs there fewer than
    `rare_below` times, in any case. With `leaks`, warns of sets that share sentences with the training text.
    """
    config = run.config()
    try:
        report = from_json((run.preparation_folder / "report.json").read_bytes())
        fingerprint = str(report["corpus"]["fingerprint"])
        folder = prepared_folder(config.corpus.prepared_directory, "corpus", fingerprint)
        counts = CorpusReport.from_json((folder / "report.json").read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        message = "the prepared corpus of %s is not on this disk: leaks into training and rare words are not checked"
        LOGGER.info(message, run.path)
        return {}
    normalizer = normalizer_of_run(run, config)
    in_sources = {one.name: [_words(normalizer.source(text)) for text in one.sources] for one in sets}
    wanted = {word for sources in in_sources.values() for words in sources for word in words}
    sides = {fold(text) for one in sets for side in (one.sources, *one.references) for text in side} if leaks else set()
    corpus = PreparedCorpus(folder, fingerprint, counts, config.corpus.languages)
    words, known = _search_training(corpus, wanted, sides - {""})
    for one in sets:
        rows = zip(one.sources, one.references, strict=True)
        if leaked := sum(any(fold(text) in known for text in (source, *texts)) for source, texts in rows):
            LOGGER.warning(
                f"{run.path} was trained on {leaked} of the {len(one.sources)} sentences of test set `{one.name}` "
                "(their source or a reference): the score does not measure generalization"
            )
    return {
        name: tuple(sum(words[word] < rare_below for word in source) / max(len(source), 1) for source in sources)
        for name, sources in in_sources.items()
    }


def _search_training(corpus: PreparedCorpus, wanted: set[str], sides: set[str]) -> tuple[Counter[str], set[str]]:
    """Return counts of the `wanted` words in the training text, and the folded `sides` that occur in it."""
    words: Counter[str] = Counter()
    known: set[str] = set()
    total = sum(corpus.count("train", name) for name in corpus.names("train"))
    progress: tqdm[object] = progress_bar(description="reading the training text", total=total, unit=" pairs")
    with progress:
        for name in corpus.names("train"):
            source, target = corpus.sides
            for line in corpus.lines("train", name, source):
                words.update(word for word in _words(line) if word in wanted)
                if sides and (key := fold(line)) in sides:
                    known.add(key)
                progress.update()
            if sides:
                known.update(key for line in corpus.lines("train", name, target) if (key := fold(line)) in sides)
    return words, known


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
