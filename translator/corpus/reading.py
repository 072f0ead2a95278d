"""Reading a source: its raw pairs as a stream, from any layout, in place; texts that cannot be a corpus are refused."""

import functools
import itertools
import re
import shlex
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from translator.config import SourceConfig
from translator.config.corpus_section import BadRows
from translator.corpus.compression import members_of, packing_of, read_blocks
from translator.corpus.csv_rows import rows_of_csv
from translator.corpus.file_forms import Form, form_of, without_packing
from translator.corpus.json_lines import pairs_of_json_lines
from translator.corpus.lines import BAD_ROW, Pair, UnequalSidesError, pairs_of_sides, read_lines
from translator.corpus.mojibake import is_suspect
from translator.corpus.parquet import MAGIC, pairs_of_parquet
from translator.corpus.scripts import ARABIC_LETTER, LETTERS
from translator.corpus.sources import choose_members, files_by_corpus, held_out_names, listing
from translator.corpus.tables import pairs_of_table, rows_of_tsv
from translator.corpus.tmx import pairs_of_tmx
from translator.errors import CorpusError
from translator.run.logging import LOGGER
from translator.run.text import excerpt

_PAIRS_FOR_LANGUAGES: Final = 1000  # that show whether the sides are swapped
_CHARACTERS_FOR_LANGUAGES: Final = 200  # of each side of these
_SWAPPED_SHARE: Final = 0.9  # of these pairs, with which the sides count as swapped
_FEWEST_PAIRS_FOR_SCRIPTS: Final = 100  # with text on both sides that show whether each side has its script
_LANGUAGE_SHARE: Final = 0.01  # of these pairs; with fewer letters of a side's script, it is no text of the language
_BAD_SHARE: Final = 0.01  # of the rows; with more, it is another kind of file
_BAD_ROWS_SHOWN: Final = 5
_FEWEST_BAD_ROWS: Final = 3  # are dropped from a file of any size
_BAD_ROWS_EARLY: Final = 1000  # are counted before the end of a file
_ROW_FORMS: Final = {
    Form.TSV: "a row needs English, a tab and Persian, and as many columns as the other rows",
    Form.CSV: (
        "a row needs as many cells as the other rows; a cell with quotation marks must be in quotation marks, with its "
        "own doubled"
    ),
    Form.JSON_LINES: "a line needs one JSON object with a text for each side",
    Form.PARQUET: "a row needs a text for each side",
    Form.TMX: "the unit of a TMX needs to be well-formed XML, without control characters",
}
"""What a row or unit of each form must be."""
_JSON_OBJECT: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^\t\n]*(\n|$)')  # on a first line without tabs
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")


@functools.cache
def _tell_once(message: str) -> None:
    """Log a message, once in a process: a command may read a source several times."""
    LOGGER.info(message)


def read_pairs(
    source: SourceConfig, bad_rows: BadRows = "drop", note: Callable[[str], None] = _tell_once
) -> Generator[Pair, None, None]:
    """Yield the pairs of `source` in order, raw, at most `max_pairs` of them; memory stays flat.

    The corpora of a folder are read one after the other, in the order of their names. A pair that cannot be used has
    the name of its `defect`: a line of more than 1 MiB, or one that is not UTF-8 under `invalid_utf8: drop`, a row or a
    unit without the right form, a unit of a TMX without one of the languages, a score below `min_score`. Blank lines at
    the end are no pairs.

    Args:
        source: the corpus.
        bad_rows: `drop` gives rows and units without the right form a defect; `error` refuses the first.
        note: is called with messages on what is not read.

    Raises:
        CorpusError: a file is missing, damaged, empty, not UTF-8, not a table, or its sides are swapped or unequal; or
            more than 1% of its rows, and more than three, do not have the right form; or a column is missing.
        InputError: a Parquet file needs pyarrow, which is missing.
    """
    remaining_pairs = source.max_pairs
    if left_out := held_out_names(source):
        note(f"{source.path}: held-out text is not read: {listing(left_out)}; give it as a test set")
    for files in files_by_corpus(source):
        label = f"corpus source `{source.name}`: {' and '.join(map(str, files))}"
        texts = _texts(source, files, label)
        remarks = _Remarks(texts[0].label, note)
        form = None if len(texts) == 2 else texts[0].form()
        _refuse_columns(source, form, label)
        all_pairs = _pairs_of(texts, form, source, remarks.add)
        pairs = itertools.islice(all_pairs, remaining_pairs)
        defects = _BadRows(label, form or Form.TSV, source, remarks, bad_rows)
        try:
            # 1. The first pairs show whether this can be a corpus.
            first_pairs = list(itertools.islice(pairs, _PAIRS_FOR_LANGUAGES))
            if not first_pairs:
                raise CorpusError(f"{label}: it has no lines; check that it is the right file")
            _refuse_swapped(first_pairs, label, [text.label for text in texts])
            _refuse_other_scripts(first_pairs, label, remarks)

            # 2. All pairs.
            count = 0
            for count, pair in enumerate(itertools.chain(first_pairs, pairs), start=1):
                if pair.defect == BAD_ROW:
                    defects.add(pair.line, count)
                yield pair
            defects.refuse_too_many(count)
        except UnequalSidesError:
            raise _unequal_sides(source.name, texts) from None
        if remaining_pairs is not None:
            remaining_pairs -= count
            if remaining_pairs == 0:
                break


class _Remarks:
    """Passes on the notes of a text, and adds them to errors: they tell the columns that are read."""

    def __init__(self, label: str, note: Callable[[str], None]) -> None:
        self._label = label
        self._note = note
        self._notes: list[str] = []

    def add(self, message: str) -> None:
        """Pass on a note."""
        self._notes.append(message.removeprefix(f"{self._label}: "))
        self._note(message)

    def __str__(self) -> str:
        """Return the notes as the end of a message."""
        return "".join(f"; {message}" for message in self._notes)


class _Text(NamedTuple):
    """One text of a corpus: a file, or a member of a zip."""

    file: Path
    member: str | None = None

    @property
    def label(self) -> str:
        """Name of the text in messages."""
        return str(self.file) if self.member is None else f"{self.file}, member {excerpt(self.member, 200)}"

    def form(self) -> Form:
        """Return the form of a text that holds both sides; raise CorpusError if its name tells a wrong one."""
        name = self.file.name if self.member is None else self.member
        form = form_of(name) or Form.TSV
        start = next(read_blocks(self.file, self.member), b"")
        if start.startswith(MAGIC):
            if self.member is not None or packing_of(self.file) is not None:
                raise CorpusError(f"{self.label} is a packed Parquet file, which cannot be read in place; unpack it")
            return Form.PARQUET
        if form is Form.PARQUET:
            raise CorpusError(f"{self.label} is no Parquet file (it does not begin with PAR1); get the file again")
        if form is Form.JSON_LINES and start.lstrip().startswith(b"["):
            unpacked = Path(without_packing(name))
            raise CorpusError(
                f"{self.label} is one JSON array, and JSON Lines are needed, with an object on each line; convert it: "
                f"jq -c '.[]' {shlex.quote(unpacked.name)} > {shlex.quote(unpacked.stem)}.jsonl"
            )
        if form in (Form.TSV, Form.CSV) and _JSON_OBJECT.match(start):
            raise CorpusError(f"{self.label} looks like JSON Lines, not {form}; give it a name that ends in .jsonl")
        return form

    def lines(self, *, drop_invalid: bool) -> Iterator[str]:
        """Yield its lines; see `read_lines`."""
        advice = ", or set `invalid_utf8: drop` for this source to skip such lines"
        blocks = read_blocks(self.file, self.member)
        for lines in read_lines(blocks, self.label, drop_invalid=drop_invalid, advice=advice):
            yield from lines

    def units(self, *, drop_invalid: bool) -> Iterator[Pair]:
        """Yield the pairs of a TMX document; see `pairs_of_tmx`."""
        return pairs_of_tmx(read_blocks(self.file, self.member), self.label, drop_invalid=drop_invalid)


def _texts(source: SourceConfig, files: Sequence[Path], label: str) -> list[_Text]:
    if len(files) == 1 and packing_of(files[0]) == "zip archive":
        members = choose_members(files[0], members_of(files[0]), source.source_member, source.target_member)
        return [_Text(files[0], member) for member in members]
    if source.source_member is not None:
        raise CorpusError(f"{label} is not a zip archive; `source_member` and `target_member` name members of a zip")
    return [_Text(file) for file in files]


def _refuse_columns(source: SourceConfig, form: Form | None, label: str) -> None:
    """Raise CorpusError if `source` names columns of a corpus that has none; None is the form of two texts."""
    if source.source_column is None and source.min_score is None:
        return
    if form is None or not form.has_columns:
        kind = "two text files" if form is None else f"a {form}"
        keys = "`source_column`, `target_column` and `min_score`"
        raise CorpusError(f"{label}: {keys} choose columns of a table, and this is {kind}; remove them")


def _pairs_of(
    texts: Sequence[_Text], form: Form | None, source: SourceConfig, note: Callable[[str], None]
) -> Iterator[Pair]:
    """Yield the pairs of two texts, one a side, or of one text that holds both sides, in `form`."""
    drop_invalid = source.invalid_utf8 == "drop"
    if len(texts) == 2:
        english, persian = texts
        return pairs_of_sides(english.lines(drop_invalid=drop_invalid), persian.lines(drop_invalid=drop_invalid))
    (text,) = texts
    if form is Form.TMX:
        return text.units(drop_invalid=drop_invalid)
    if form is Form.PARQUET:
        return pairs_of_parquet(text.file, source, text.label, note, drop_invalid=drop_invalid)
    lines = text.lines(drop_invalid=drop_invalid)
    if form is Form.JSON_LINES:
        return pairs_of_json_lines(lines, source, text.label, note)
    rows = rows_of_csv(lines, text.label, note) if form is Form.CSV else rows_of_tsv(lines)
    return pairs_of_table(rows, source, text.label, note)


class _BadRows:
    """Counts the rows and units of a corpus that do not have the right form, and refuses too many."""

    def __init__(self, label: str, form: Form, source: SourceConfig, remarks: _Remarks, treatment: BadRows) -> None:
        self._label = label
        self._form = _ROW_FORMS[form]
        if source.min_score is not None:
            self._form += f", and a score that is a number in column `{source.min_score.column}`"
        self._remarks = remarks
        self._unit = "row" if form is Form.PARQUET else "line"
        self._treatment = treatment
        self._bad_rows = 0
        self._first_lines: list[int] = []

    def add(self, line: int, rows: int) -> None:
        """Count a bad row, the last of `rows`; raise CorpusError if the treatment is `error`, or for far too many."""
        if self._treatment == "error":
            place = f"{self._unit} {line}"
            raise CorpusError(
                f"{self._label}, {place}: {self._form}; correct it, or set `corpus.bad_rows: drop`{self._remarks}"
            )
        self._bad_rows += 1
        if len(self._first_lines) < _BAD_ROWS_SHOWN:
            self._first_lines.append(line)
        # A large file of another kind is refused before its end.
        if self._bad_rows > _BAD_ROWS_EARLY:
            self.refuse_too_many(rows)

    def refuse_too_many(self, rows: int) -> None:
        """Raise CorpusError if more than 1% of `rows`, and more than three, are bad, or all of them."""
        if self._bad_rows < rows and self._bad_rows <= max(_FEWEST_BAD_ROWS, _BAD_SHARE * rows):
            return
        numbers = ", ".join(map(str, self._first_lines))
        more = ", …" if self._bad_rows > _BAD_ROWS_SHOWN else ""
        places = f"{self._unit}s {numbers}{more}"
        raise CorpusError(
            f"{self._label}: {self._bad_rows:,} of {rows:,} rows do not have the right form ({places}), "
            f"and 1% are allowed; {self._form}; correct the file, or give two files as `source_path` and `target_path`"
            f"{self._remarks}"
        )


def _unequal_sides(name: str, texts: Sequence[_Text]) -> CorpusError:
    """Return an error with the number of lines of each side, and the first empty line of each."""
    line_counts = []
    empty_lines = []
    for text in texts:
        count = 0
        first_empty = None
        for count, line in enumerate(text.lines(drop_invalid=True), start=1):
            is_empty = type(line) is str and not line.strip()  # a line that cannot be read has another type
            if is_empty and first_empty is None:
                first_empty = count
        line_counts.append(count)
        if first_empty is not None:
            empty_lines.append(f"line {first_empty:,} of {text.label}")
    english, persian = texts
    message = (
        f"corpus source `{name}`: the two sides differ in length: {english.label} has {line_counts[0]:,} lines, "
        f"{persian.label} has {line_counts[1]:,}; line N of both sides must be a pair, so get the corpus again or "
        "correct it"
    )
    if empty_lines:
        message += f". First empty line: {' and '.join(empty_lines)}"
    return CorpusError(message)


def _refuse_swapped(pairs: Sequence[Pair], label: str, text_labels: Sequence[str]) -> None:
    """Raise CorpusError if 90% of the pairs with letters on both sides have Persian first and English second."""
    pairs_with_letters = 0
    swapped_pairs = 0
    for pair in pairs:
        first_text = pair.source[:_CHARACTERS_FOR_LANGUAGES]
        second_text = pair.target[:_CHARACTERS_FOR_LANGUAGES]
        first_latin = len(_LATIN.findall(first_text))
        first_arabic = len(ARABIC_LETTER.findall(first_text))
        second_latin = len(_LATIN.findall(second_text))
        second_arabic = len(ARABIC_LETTER.findall(second_text))
        if first_latin + first_arabic > 0 and second_latin + second_arabic > 0:
            pairs_with_letters += 1
            swapped_pairs += first_arabic > first_latin and second_latin > second_arabic
    if swapped_pairs and swapped_pairs >= _SWAPPED_SHARE * pairs_with_letters:
        first, second = text_labels if len(text_labels) == 2 else ("the column of the English text", "the other")
        raise CorpusError(
            f"{label}: the two sides are swapped: {swapped_pairs:,} of the first {pairs_with_letters:,} pairs with "
            f"letters are Persian in {first} and English in {second}; swap the columns, the names of the files, or "
            "`source_path` and `target_path` (in a zip `source_member` and `target_member`, in a table "
            "`source_column` and `target_column`)"
        )


def _refuse_other_scripts(pairs: Sequence[Pair], label: str, remarks: _Remarks) -> None:
    """Raise CorpusError if under 1% of the pairs have letters on a side, of its script if remarks tell the columns."""
    pairs_with_texts = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    count = len(pairs_with_texts)
    if count < _FEWEST_PAIRS_FOR_SCRIPTS:
        return
    sides = (
        ("English", "Latin", _LATIN, [pair.source for pair in pairs_with_texts]),
        ("Persian", "Arabic-script", ARABIC_LETTER, [pair.target for pair in pairs_with_texts]),
    )
    for language, script, script_letter, texts in sides:
        # Two texts may be in any script, for an experiment; columns among others need to be the right ones.
        letter = script_letter if str(remarks) else LETTERS
        # The normalizer may repair text that was decoded with the wrong character set.
        texts_with_letters = [text for text in texts if letter.search(text) or is_suspect(text)]
        if len(texts_with_letters) < _LANGUAGE_SHARE * count:
            kind = f"{script} letters" if str(remarks) else "letters"
            raise CorpusError(
                f"{label}: the {language} side is no {language}: {len(texts_with_letters)} of its first {count:,} "
                f"texts have {kind}; the first is `{excerpt(texts[0], 100)}`; give the right file, or in a table the "
                f"right `source_column` and `target_column`{remarks}"
            )
