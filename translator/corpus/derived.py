"""Corpora derived from a trained run: replayed text, back-translated pairs, and the training text of a student."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from translator.config import Config, FilterConfig, SourceConfig
from translator.core import TAG
from translator.corpus.given_translations import nearest
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.reading.forms import TextFile, form_of, unread_form
from translator.corpus.reading.lines import Unreadable, first_numbers
from translator.corpus.selecting.filters import PairFilter
from translator.corpus.selecting.folding import fold
from translator.corpus.selecting.split import Split
from translator.errors import CorpusError
from translator.run.files import storage_errors, write_text
from translator.run.logging import LOGGER

_STRICT_LENGTHS: Final = {"max_length_ratio": 2.0}
"""A stricter limit for back-translations, which are too short or too long more often than human translations."""


def inherited_sources(
    corpus: PreparedCorpus,
    split: Split,
    weights: Mapping[str, float] | None = None,
    max_pairs: int | None = None,
    folder: Path | None = None,
) -> list[SourceConfig]:
    """Return the text of each source in `split` as sources of a derived run.

    Args:
        corpus: the prepared text of the parent run.
        split: the part of it, which is also the `use` of the new sources.
        weights: by the names of the sources; None: all have weight 1.
        max_pairs: most pairs of each source; None: all.
        folder: where `write_sample` wrote a sample of the text; None: the whole text.
    """
    folder = (folder or corpus.directory / split).resolve()
    return [
        SourceConfig(
            name=name,
            source_path=str(folder / f"{name}.en"),
            target_path=str(folder / f"{name}.fa"),
            use=split,
            weight=1.0 if weights is None else weights[name],
            max_pairs=max_pairs,
            obtain="this is prepared text of the parent run; repeat the command that wrote this recipe",
        )
        for name in corpus.names(split)
    ]


def write_sample(corpus: PreparedCorpus, spacing: Mapping[str, float], folder: Path) -> None:
    """Write one in `spacing`[name] training pairs of each source, evenly spaced, to `folder`/NAME.en and .fa."""
    for name, step in spacing.items():
        count = corpus.count("train", name)
        sample_size = max(1, round(count / step))
        chosen_numbers = {number * count // sample_size for number in range(sample_size)}  # of lines, from 0
        for side in corpus.sides:
            lines = enumerate(corpus.lines("train", name, side))
            write_texts(folder / f"{name}.{side}", (line for number, line in lines if number in chosen_numbers))


def training_weights(config: Config) -> dict[str, float]:
    """Return the weight of each source in the training text of a run, by its name."""
    return {source.name: source.weight for source in config.corpus.sources if source.use in ("auto", "train")}


def test_set_arguments(corpus: PreparedCorpus) -> list[str]:
    """Return the test text of each source as an argument `NAME=ENGLISH:PERSIAN`."""
    sources = inherited_sources(corpus, "test")
    return [f"{source.name}={source.source_path}:{source.target_path}" for source in sources]


def read_monolingual(
    files: Sequence[Path], normalizer: Normalizer, max_words: int | None
) -> tuple[list[str], Counter[str]]:
    """Return each distinct line of `files`, normalized as source text, and the number of lines by what became of them.

    A line is dropped if it is empty, is not UTF-8, has more than `max_words` words, or equals an earlier one after
    `fold`. A warning gives the numbers of the lines that are not UTF-8.

    Raises CorpusError: a file cannot be read, or has a form of its own, such as a table or subtitles.
    """
    # 1. Refuse files with a form of their own, by their names: subtitles and the like (`unread`), and tables.
    for file in files:
        unread = unread_form(file.name)
        kind = form_of(file.name) if unread is None else unread.kind
        if kind is not None:
            raise CorpusError(f"{file} is {kind}; write its text into a file of its own, one sentence per line")

    # 2. Keep the distinct lines, and count each line under what becomes of it. In place of a line that it cannot read,
    # the reader gives a value of `Unreadable`. As that is a text too, it may be normalized like others.
    counts = Counter[str]()
    hashes = set[int]()  # of the folded lines; the lines themselves would take much more memory
    distinct_lines: list[str] = []
    for file in files:
        invalid_numbers: list[int] = []  # of lines that are not UTF-8
        for number, line in enumerate(TextFile(file).lines(drop_invalid=True), start=1):
            text = normalizer.source(line)
            key = hash(fold(text))
            if line is Unreadable.INVALID_UTF8:
                invalid_numbers.append(number)
                outcome = "not UTF-8"
            elif not text.strip():
                outcome = "empty"
            elif line is Unreadable.LINE_TOO_LONG or (max_words is not None and len(text.split()) > max_words):
                outcome = "too long"
            elif key in hashes:
                outcome = "repeated"
            else:
                outcome = "kept"
                hashes.add(key)
                distinct_lines.append(text)
            counts[outcome] += 1

        # 3. Name the lines of this file that are not UTF-8.
        if invalid_numbers:
            lines_are = "1 line is" if len(invalid_numbers) == 1 else f"{len(invalid_numbers):,} lines are"
            LOGGER.warning(
                f"{file}: {lines_are} not UTF-8 and left out ({first_numbers(invalid_numbers)}); convert them first, "
                "for example with iconv"
            )
    return distinct_lines, counts


def synthetic_pairs(
    english: Sequence[str],
    persian: Sequence[str],
    filters: FilterConfig,
    round_trip_scores: Sequence[float] | None = None,
    lowest_score: float = 0.0,
) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Return the back-translated pairs that pass the filters, and the number of pairs by what became of them.

    The English text of each returned pair begins with the tag for synthetic text. A pair is dropped by the rules of
    `filters`, with a stricter limit on the ratio of lengths, or for its score.

    Args:
        english: the translations.
        persian: the lines that were translated.
        filters: the filters of the run.
        round_trip_scores: the score of each pair; None: no pair is dropped for its score.
        lowest_score: pairs with lower ones are dropped.
    """
    broken_rule = PairFilter(filters.model_copy(update=_STRICT_LENGTHS)).broken_rule
    counts = Counter[str]()
    pairs: list[tuple[str, str]] = []
    for number, (english_text, persian_text) in enumerate(zip(english, persian, strict=True)):
        has_low_score = round_trip_scores is not None and round_trip_scores[number] < lowest_score
        rule = broken_rule(english_text, persian_text) or ("round_trip" if has_low_score else None)
        counts[rule or "kept"] += 1
        if rule is None:
            pairs.append((f"{TAG} {english_text}", persian_text))
    return pairs, counts


def best_translations(
    n_best: Iterable[str], references: Iterable[str], score: Callable[[str, str], float]
) -> Iterator[str]:
    """Yield, for each row of JSON Lines with n-best translations, the one with the best `score`.

    Args:
        n_best: the rows.
        references: one for each row.
        score: rates a translation against its reference; the higher, the better.
    """
    for row, reference in zip(n_best, references, strict=True):
        translations = [translation["text"] for translation in json.loads(row)["translations"]]
        yield nearest(translations, reference, score)


def read_texts(path: Path) -> Iterator[str]:
    """Yield the lines of a file of UTF-8 text."""
    with storage_errors(path, "read"), path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.removesuffix("\n")


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Replace the file at `path` by a line for each text, atomically; raises StorageError."""
    write_text(path, "".join(f"{text}\n" for text in texts))
