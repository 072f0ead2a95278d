"""What a test set has to do with the text that a run was trained on: rare words, and sentences known from there."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translator.config import Config
from translator.corpus.normalize import Normalizer, fold
from translator.corpus.prepare import PreparedCorpus, corpus_fingerprint, prepare_corpus
from translator.corpus.test_set import HeldOutSet
from translator.errors import CorpusError
from translator.prepared import prepared_folder
from translator.progress import progress_bar

if TYPE_CHECKING:
    from tqdm import tqdm

_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True)
class TrainingText:
    """What was looked for in the training text of a run."""

    normalizer: Normalizer
    """Of the run: its training text went through it, and so must what is compared with it."""
    words: Counter[str]
    """How often it has each word of the sentences that were looked for; without case."""
    known: frozenset[str]
    """Folded sides, of those that were looked for, which it has."""

    def rare_shares(self, sources: Iterable[str], rare_below: int) -> tuple[float, ...]:
        """Return for each source the share of its words that the training text has fewer than `rare_below` times."""
        shares = []
        for source in sources:
            words = english_words(self.normalizer.source(source))
            shares.append(sum(self.words[word] < rare_below for word in words) / len(words) if words else 0.0)
        return tuple(shares)

    def count_known(self, held_out: HeldOutSet) -> int:
        """Return how many sentences of a test set the training text has: the English side, or a reference."""
        return sum(
            any(fold(text) in self.known for text in (source, *texts))
            for source, texts in zip(held_out.sources, held_out.references, strict=True)
        )


def english_words(text: str) -> list[str]:
    """Return the words of a normalized English text, without case."""
    return _WORD.findall(text.casefold())


def find_prepared(config: Config) -> PreparedCorpus | None:
    """Return the prepared corpus of a run where it is on disk already; it is not made for this.

    Raises:
        StorageError: a corpus file cannot be read.
    """
    try:
        fingerprint = corpus_fingerprint(config.corpus, config.evaluation.test_sets)
    except CorpusError:
        return None  # its files are no longer there
    if not (prepared_folder(config.corpus.prepared_directory, "corpus", fingerprint) / "report.json").is_file():
        return None
    return prepare_corpus(config.corpus, config.evaluation.test_sets)


def look_through(
    corpus: PreparedCorpus, sets: Sequence[HeldOutSet], normalizer: Normalizer, *, for_leaks: Sequence[HeldOutSet]
) -> TrainingText:
    """Read the training text once; look for the words of `sets`, and for whole sentences of `for_leaks`.

    Raises:
        StorageError: the prepared text is damaged.
    """
    sources = [normalizer.source(source) for held_out in sets for source in held_out.sources]
    wanted = {word for source in sources for word in english_words(source)}
    sides = {fold(text) for held_out in for_leaks for text in held_out.sources}
    sides |= {fold(text) for held_out in for_leaks for texts in held_out.references for text in texts}
    sides.discard("")
    words: Counter[str] = Counter()
    known: set[str] = set()
    total = sum(corpus.count("train", name) for name in corpus.names("train"))
    progress: tqdm[object] = progress_bar(description="reading the training text", total=total, unit=" pairs")
    with progress:
        for name in corpus.names("train"):
            for line in corpus.lines("train", name, "en"):
                words.update(word for word in english_words(line) if word in wanted)
                if sides and (key := fold(line)) in sides:
                    known.add(key)
                progress.update()
            for line in corpus.lines("train", name, "fa") if sides else ():
                if (key := fold(line)) in sides:
                    known.add(key)
    return TrainingText(normalizer, words, frozenset(known))
