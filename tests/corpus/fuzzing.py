"""One broken corpus, read and prepared: either the person is told, in one line, or each pair is a pair of the files."""

import contextlib
import io
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from unittest import mock

from corpus.expected_pairs import Fault, Reading, possible_readings
from corpus.fuzz_cases import Case, Limits
from corpus.mutations import SIGNATURES

from translator.config import CorpusConfig, SourceConfig, SplitConfig
from translator.corpus import SPLITS, Normalizer, Pair, prepare_corpus, read_pairs
from translator.errors import TranslatorError

REFUSALS: Final = {
    "not UTF-8": r"line (\d+): not UTF-8 \(byte 0x(\w\w) at byte offset ([\d,]+) of the text\)",
    "sides of unequal length": r" has ([\d,]+) lines, .* has ([\d,]+); every English line needs its Persian line",
    "columns": r"columns? where two are expected",
    "swapped": r"the two sides are swapped",
    "blank": r"blank on every line",
    "no line": r"there is no line in it",
    "damaged": r"is damaged( or was cut off)? \(",
    "packed twice": r"packed twice",
    "packed otherwise": r"which is not read; unpack it|is a zip archive; give it as `path`|cannot be unpacked",
    "unpacks to too much": r"unpacks to more than|takes more memory to unpack",
    "hostile": r"is refused: the member|is encrypted",
    "no pair of members": r"holds (no pair of members|several pairs)",
}
"""What a person may be told when a corpus is read."""

TOO_LITTLE: Final = {
    "nothing left": r"all [\d,]+ pairs were dropped|no pair is left for training",
    "too few to hold out": r"corpus\.split holds out",
}
"""What may be told besides when it is prepared."""


def play(case: Case) -> str:
    """Read the corpus of a case, prepare it if the case says so, and return what became of it.

    Raises:
        AssertionError: a pair is not one of the files, or a message is not what it should be; the text names the case.
        Exception: a bug, with a note that names the case.
    """
    try:
        with scratch_folder() as folder, _small(case.limits):
            source = case.write(folder)
            return _played(case, source, folder / "prepared")
    except Exception as error:
        error.add_note(f"{case.name} (layout: {case.layout})")
        raise


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder, in memory where that can be had: a disk is slow to make and remove small files."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(dir=memory if memory.is_dir() else None)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def _small(limits: Limits) -> Iterator[None]:
    with (
        mock.patch("translator.corpus.sources.compression.BLOCK", limits.block),
        mock.patch("translator.corpus.sources.lines.LONGEST_LINE", limits.longest_line),
        mock.patch("translator.corpus.cleaning._PAIRS", limits.pairs_of_a_chunk),
        mock.patch("os.fsync", lambda _: None),  # no power is lost here
        contextlib.redirect_stderr(io.StringIO()),  # progress bars
    ):
        yield


def _played(case: Case, source: SourceConfig, prepared: Path) -> str:
    readings = possible_readings(case)
    try:
        pairs = list(read_pairs(source))
    except TranslatorError as error:
        message = str(error)
        kind = _kind(message, REFUSALS)
        if not case.damaged:
            (reading,) = readings
            assert _is_true(message, kind, reading, case.max_pairs), f"{message}; but the files hold {reading}"
        if case.prepared:
            assert _prepare(source, prepared, []) == message
        return f"refused: {kind}"
    assert any(_fits(pairs, reading, case.max_pairs) for reading in readings), (
        f"misaligned or read wrongly: {pairs} where the files hold {readings}"
    )
    if case.prepared:
        told = _prepare(source, prepared, pairs)
        return "prepared" if told is None else f"read, then refused: {_kind(told, TOO_LITTLE)}"
    return "read"


def _kind(message: str, kinds: dict[str, str]) -> str:
    assert len(message.splitlines()) == 1, f"more than one line: {message!r}"
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", message), f"controls of a terminal: {message!r}"
    found = [kind for kind, pattern in kinds.items() if re.search(pattern, message)]
    assert found, f"a message of no known kind: {message}"
    return found[0]


def _fits(pairs: Sequence[Pair], readings: Sequence[Reading], most: int | None) -> bool:
    """Say whether `pairs` are those of the files, as many as were asked for."""
    expected: list[Pair] = []
    for reading in readings:
        expected += reading.pairs
        if most is not None and len(expected) >= most:
            return pairs == expected[:most]
        if reading.faults:
            return False
    return pairs == expected


def _is_true(message: str, kind: str, readings: Sequence[Reading], most: int | None) -> bool:
    """Say whether the files give a reason for the message, and whether its places and counts are right."""
    texts = [text for reading in readings for text in reading.texts]
    faults: set[Fault] = set().union(*(reading.faults for reading in readings))
    found = re.search(REFUSALS[kind], message)
    assert found is not None
    if kind == "not UTF-8":
        line, byte, offset = int(found[1]), int(found[2], 16), int(found[3].replace(",", ""))
        places = [(text[offset], text.count(b"\n", 0, offset) + 1) for text in texts if offset < len(text)]
        return "not UTF-8" in faults and (byte, line) in places
    if kind == "sides of unequal length":
        counts = int(found[1].replace(",", "")), int(found[2].replace(",", ""))
        return "length" in faults and any(reading.counts == counts for reading in readings)
    if kind == "columns":
        return "columns" in faults
    if kind == "no line":
        return any(not any(reading.texts) for reading in readings)
    good = [[pair for pair in reading.pairs if pair.defect is None] for reading in readings]
    if kind == "swapped":
        return any(_is_swapped(pair) for pairs in good for pair in pairs)
    if kind == "blank":  # the pairs that were read; with `max_pairs`, maybe only the first
        return any(_has_a_blank_side(pairs if most is None else pairs[:1]) for pairs in good)
    return any(text.startswith(SIGNATURES) for text in texts)


def _is_swapped(pair: Pair) -> bool:
    return bool(re.search("[\u0620-\uffff]", pair.source) and re.search("[A-Za-z\u00c0-\u024f]", pair.target))


def _has_a_blank_side(pairs: Sequence[Pair]) -> bool:
    sources, targets = "".join(pair.source for pair in pairs), "".join(pair.target for pair in pairs)
    return bool(pairs) and not (sources.strip() and targets.strip())


def _prepare(source: SourceConfig, folder: Path, pairs: Sequence[Pair]) -> str | None:
    """Prepare a corpus that holds `pairs`, look at what came out, and return what the person is told if it is refused.

    Whatever a rule drops, what is kept of each split must be pairs of the files, in their order.
    """
    config = CorpusConfig(
        sources=(source,), split=SplitConfig(validation=1, test=1), prepared_directory=str(folder), workers=1
    )
    try:
        corpus = prepare_corpus(config)
    except TranslatorError as error:
        assert not list(folder.rglob("*")), "something is left of what was refused"
        return str(error)
    normalizer = Normalizer(config.normalization)
    raw = [(pair.source, pair.target) for pair in pairs]
    normalized = [(normalizer.source(english), normalizer.target(persian)) for english, persian in raw]
    for split in SPLITS:
        sources, targets = list(corpus.lines(split, "text", "en")), list(corpus.lines(split, "text", "fa"))
        assert len(sources) == len(targets) == corpus.count(split, "text")
        following = iter(normalized if split == "train" else raw)
        for kept in zip(sources, targets, strict=True):
            assert kept in following, f"misaligned: {kept} of {split} is no pair of the files, or not in their order"
    (report,) = corpus.report.sources
    assert report.read == len(pairs) == sum(report.dropped.values()) + sum(report.kept.values())
    for defect, count in Counter(pair.defect for pair in pairs if pair.defect).items():
        assert report.dropped[defect] == count
    return None
