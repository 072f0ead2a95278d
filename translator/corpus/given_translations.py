"""Translations that another system has made: their file, and the choice among those of one source."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.reading.forms import Form, TextFile
from translator.corpus.reading.lines import BAD_ROW, Pair, RowCounts
from translator.corpus.reading.tables import CellRow, NamedRow, cells_of_tsv, objects_of, text_in
from translator.corpus.selecting.filters import EMPTY
from translator.errors import CorpusError

_REQUIREMENTS: Final = {
    Form.TSV: "a row needs a source, a tab and a translation, in UTF-8; more translations may follow, each after a tab",
    Form.JSON_LINES: "a line needs an object with `source` and either `translation` or the list `translations`",
}


def read_translations(file: Path, counts: Counter[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each source in `file` with its translations, raw; a blank row has none. Memory stays flat.

    A row of TSV has the source and then the translations. An object of JSON Lines has `source`, and `translation` or
    `translations`; the latter may be objects with a `text`, as `translator translate --format jsonl` writes them.

    Args:
        file: plain or compressed; its name tells its form.
        counts: gets the number of bad rows, which are left out.

    Raises CorpusError: the file has another form or no row, or too many of its rows are bad (see `RowCounts`).
    """
    # 1. The form of the file, and its rows. For a line that is blank or unreadable, the readers may give a `Pair`
    # instead of a row.
    text = TextFile(file)
    form = text.form()
    if form not in _REQUIREMENTS:
        raise CorpusError(f"{file} is {form}; give the translations as TSV or JSON Lines")
    lines = text.lines(drop_invalid=True)
    rows: Iterable[CellRow | NamedRow | Pair] = cells_of_tsv(lines) if form is Form.TSV else objects_of(lines)

    # 2. The texts of each row. A few bad rows are left out; many mean another kind of file.
    row_tally = RowCounts(str(file), f"{_REQUIREMENTS[form]}; correct the file")
    has_rows = False
    for row in rows:
        has_rows = True
        texts = _texts_of(row)
        line_number = row[0]  # the first field of all three types
        row_tally.add(line_number, is_bad=texts is None)
        if texts is None:
            counts[BAD_ROW] += 1
        else:
            yield texts
    if not has_rows:
        raise CorpusError(f"{file} has no lines; check that it is the right file")
    row_tally.check()


def _texts_of(row: CellRow | NamedRow | Pair) -> tuple[str, list[str]] | None:
    """Return the source and the translations of a row; None if one of the two is missing.

    A blank row has the source "" and no translations.
    """
    # 1. A `Pair` stands for a line that is no row: it is blank, or has a defect.
    if isinstance(row, Pair):
        return ("", []) if row.defect is None else None

    # 2. The source, and one or more translations. A row of TSV has its cells in this order.
    values = row[1]
    if isinstance(values, list):
        values = {"source": values[0], "translations": values[1:]}
    source = text_in(values.get("source"))
    candidates = values.get("translations", values.get("translation"))

    # 3. The translations with text. Each is a text, or an object with a `text`.
    translations: list[str] = []
    for candidate in candidates if isinstance(candidates, list) else [candidates]:
        text = text_in(candidate.get("text") if isinstance(candidate, dict) else candidate)
        if text is not None and text.strip():
            translations.append(text)
    if source is None or (source.strip() and not translations):  # a blank source needs no translation
        return None
    return source, translations


def nearest(texts: Sequence[str], reference: str, score: Callable[[str, str], float]) -> str:
    """Return the text with the best `score` against a reference; the first of several."""
    return max(texts, key=lambda text: score(text, reference))


def choose_translations(
    rows: Iterable[tuple[str, list[str]]],
    references: Mapping[str, list[str]],
    normalizer: Normalizer,
    broken_rule: Callable[[str, str], str | None],
    score: Callable[[str, str], float],
    counts: Counter[str],
) -> Iterator[tuple[str, str]]:
    """Yield each source, normalized, with one of its raw translations that pass the filters.

    The translation is the nearest to the reference of the source, or the first if there is no reference. A source of
    which no translation passes is left out, and counts under the rule that its first translation breaks.

    Args:
        rows: each source with its translations.
        references: those of each source that has some, in the order of the training text.
        normalizer: that of the teacher.
        broken_rule: returns the rule that a normalized pair breaks, or None.
        score: rates a translation against a reference; the higher, the better.
        counts: gets the number of sources by what became of them.
    """
    occurrences = Counter[str]()
    for raw_source, translations in rows:
        # 1. The rule that each translation breaks, or None, and the translations that pass the filters.
        source = normalizer.source(raw_source)
        rules = [broken_rule(source, normalizer.target(text)) for text in translations]
        passed = [text for text, rule in zip(translations, rules, strict=True) if rule is None]

        # 2. The reference. A source that occurs again has its next one; after the last, the first follows.
        reference = None
        if source in references:
            references_of_source = references[source]
            reference = references_of_source[occurrences[source] % len(references_of_source)]
            occurrences[source] += 1

        # 3. The choice. A blank row has neither translations nor rules.
        if not passed:
            counts[str(rules[0]) if rules else EMPTY] += 1
            continue
        best = passed[0] if reference is None else nearest(passed, reference, score)
        counts["kept"] += 1
        yield source, best
