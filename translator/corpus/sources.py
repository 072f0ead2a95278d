"""Sources of a recipe: their files, zips and folders, and their raw pairs as a stream, read in place."""

import contextlib
import fnmatch
import functools
import itertools
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import yaml
from pydantic import ValidationError

from translator.config import SourceConfig
from translator.config.corpus_section import BadRows
from translator.config.paths import present_path
from translator.corpus.compression import members_of, packing_of, read_blocks
from translator.corpus.lines import Pair, UnequalSidesError, pairs_of_sides, read_lines
from translator.corpus.tables import BAD_ROW, pairs_of_table
from translator.corpus.tmx import pairs_of_tmx
from translator.errors import CorpusError, InputError
from translator.run.logging import LOGGER
from translator.run.storage import storage_errors
from translator.run.text import excerpt

_LOOKED_AT: Final = 1000  # pairs that show whether the sides are swapped
_BAD_SHARE: Final = 0.01  # of the rows; with more, it is another kind of file
_BAD_ROWS_SHOWN: Final = 5
_FEWEST_BAD_ROWS: Final = 3  # are dropped from a file of any size
_BAD_ROWS_EARLY: Final = 1000  # are counted before the end of a file
_ROW_FORM: Final = "a row needs English, a tab and Persian, and as many columns as the other rows"
_UNIT_FORM: Final = "the unit of a TMX needs to be well-formed XML, without control characters"
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")
_ARABIC: Final = re.compile("[\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]")
_SIDE: Final = re.compile(
    r"(?P<stem>(?:.*[._-])?)(?P<language>en|fa)(?P<extension>(?:\.txt)?)", re.IGNORECASE | re.DOTALL
)
_PACKED: Final = re.compile(r"\.(gz|xz|zst)$", re.IGNORECASE)
_NAMES: Final = (
    *(".*", "readme*", "license*", "licence*", "copying*", "notice*", "citation*", "changelog*", "changes*"),
    *("*.md", "*.rst", "*.pdf", "*.html", "*.json", "*.yaml", "*.yml", "*.xml", "*.ids"),
    *("checksum*", "md5sum*", "sha*sum*", "*.md5", "*.sha1", "*.sha256", "*.sha512", "*.sig", "*.asc"),
    *("__macosx", "thumbs.db", "desktop.ini"),
)
_NO_TEXT: Final = re.compile("|".join(map(fnmatch.translate, _NAMES)))  # files that lie beside corpora, in lower case


def _refuse_control_characters(path: str) -> None:
    if re.search(r"[\x00-\x1f\x7f]", path):  # a recipe could not name it
        raise InputError(f"the path {path!r} has a control character, such as a tab or a line break; rename the file")


def corpus_argument(text: str) -> SourceConfig:
    """Return the corpus at a path, or of two files as `ENGLISH:PERSIAN`; raise InputError if there is none."""
    _refuse_control_characters(text)
    if path_exists(text):
        return SourceConfig(name=_name(text), path=text)
    halves = [(text[: colon.start()], text[colon.end() :]) for colon in re.finditer(":", text)]
    for english, persian in halves:
        if path_exists(english) and path_exists(persian):
            return SourceConfig(name=_name(english), source_path=english, target_path=persian)
    missing = [half for half in halves[0] if not path_exists(half)] if len(halves) == 1 else [text]
    raise InputError(
        f"`{text}` is not a corpus: {' and '.join(f'`{path}`' for path in missing)} cannot be found; give a zip, a TSV "
        "(English, tab, Persian), a TMX or a folder of these, or two files as ENGLISH:PERSIAN"
    )


def corpora_in_arguments(arguments: Sequence[Sequence[str]]) -> list[SourceConfig]:
    """Return the corpora of all `--corpus` arguments; two text files are the two sides of one corpus.

    Raises InputError: a corpus or a side of it is missing, or a path has control characters.
    """
    found: list[SourceConfig] = []
    for paths in arguments:
        for path in paths:
            _refuse_control_characters(path)
        texts = [path for path in paths if path_exists(path) and present_path(path).is_file() and not _is_whole(path)]
        sides = [path for path in texts if side_of(re.sub(_PACKED, "", Path(path).name))]
        if len(texts) == len(paths) and (len(texts) > 2 or (len(texts) == 1 and sides)):
            count = "one text file is one side of a corpus" if len(texts) == 1 else "two text files make one corpus"
            raise InputError(f"--corpus {' '.join(texts)}: {count}; give --corpus ENGLISH PERSIAN for each corpus")
        if len(paths) == len(texts) == 2:
            side = side_of(re.sub(_PACKED, "", Path(paths[1]).name))
            english, persian = reversed(paths) if side and side.language == "en" else paths
            found.append(SourceConfig(name=_name(english), source_path=english, target_path=persian))
        else:
            found += map(corpus_argument, paths)
    named: dict[str, SourceConfig] = {}
    for one in found:
        names = [one.name, *(f"{one.name}-{number}" for number in range(2, 2 * len(found) + 1))]
        name = next(name for name in names if name not in named)
        named[name] = one.model_copy(update={"name": name})
    return list(named.values())


def with_overrides(sources: Sequence[SourceConfig], overrides: Sequence[str]) -> list[SourceConfig]:
    """Return `sources` with the values that overrides like `corpus.sources.0.max_pairs=100` give them.

    Mistakes are left to the recipe that `sources` become a part of, which gets the same overrides.
    """
    changed = []
    for number, source in enumerate(sources):
        values = source.model_dump()
        for override in overrides:
            key, _, text = override.partition("=")
            prefix, _, field = key.strip().rpartition(".")
            if prefix == f"corpus.sources.{number}" and field in values:
                with contextlib.suppress(yaml.YAMLError):
                    values[field] = yaml.safe_load(text)
        with contextlib.suppress(ValidationError):
            source = SourceConfig.model_validate(values)
        changed.append(source)
    return changed


def _is_whole(path: str) -> bool:
    """Return whether the suffix of a file means that it holds both sides of a corpus."""
    return re.sub(_PACKED, "", path).lower().endswith((".zip", ".tsv", ".tmx"))


def path_exists(path: str) -> bool:
    """Return whether `path` exists or belongs to the embedded sample."""
    with contextlib.suppress(OSError, ValueError):  # path too long, or with a NUL
        return path != "" and present_path(path).exists()
    return False


def _name(path: str) -> str:
    stem = Path(path).resolve().name.split(".")[0]
    return re.sub(r"[^\w-]+", "_", stem).lstrip("-")[:60] or "corpus"


class _Text(NamedTuple):
    """One text of a corpus: a file, or a member of a zip."""

    file: Path
    member: str | None = None

    @property
    def label(self) -> str:
        """Name of the text in messages."""
        return str(self.file) if self.member is None else f"{self.file}, member {excerpt(self.member, 200)}"

    @property
    def is_tmx(self) -> bool:
        """Whether its name is that of a translation memory."""
        name = self.file.name if self.member is None else self.member
        return re.sub(_PACKED, "", name).lower().endswith(".tmx")

    def lines(self, *, drop_invalid: bool) -> Iterator[str]:
        """Yield its lines; see `read_lines`."""
        advice = ", or set `invalid_utf8: drop` for this source to skip such lines"
        blocks = read_blocks(self.file, self.member)
        for lines in read_lines(blocks, self.label, drop_invalid=drop_invalid, advice=advice):
            yield from lines

    def units(self, *, drop_invalid: bool) -> Iterator[Pair]:
        """Yield the pairs of a TMX document; see `pairs_of_tmx`."""
        return pairs_of_tmx(read_blocks(self.file, self.member), self.label, drop_invalid=drop_invalid)


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
    unit without the right form, a unit of a TMX without one of the languages. Blank lines at the end are no pairs.

    Args:
        source: the corpus.
        bad_rows: `drop` gives rows and units without the right form a defect; `error` refuses the first.
        note: is called with messages on what is not read.

    Raises CorpusError: a file is missing, damaged, empty, not UTF-8, not a table, or its sides are swapped or unequal;
        or more than 1% of its rows, and more than three, do not have the right form.
    """
    left = source.max_pairs
    for files in _corpora(source):
        whole = f"corpus source `{source.name}`: {' and '.join(map(str, files))}"
        texts = _texts(source, files, whole)
        all_pairs = _pairs_of(texts, note, drop_invalid=source.invalid_utf8 == "drop")
        pairs = itertools.islice(all_pairs, left)
        bad_lines = _BadRows(whole, _UNIT_FORM if texts[0].is_tmx else _ROW_FORM, bad_rows)
        try:
            first = list(itertools.islice(pairs, _LOOKED_AT))
            if not first:
                raise CorpusError(f"{whole}: it has no lines; check that it is the right file")
            _refuse_swapped(first, whole, [text.label for text in texts])
            count = 0
            for count, pair in enumerate(itertools.chain(first, pairs), start=1):
                if pair.defect == BAD_ROW:
                    bad_lines.add(pair.line, count)
                yield pair
            bad_lines.refuse_too_many(count)
        except UnequalSidesError:
            raise _unequal_sides(source.name, texts) from None
        if left is not None and (left := left - count) == 0:
            break


def _pairs_of(texts: Sequence[_Text], note: Callable[[str], None], *, drop_invalid: bool) -> Iterator[Pair]:
    if len(texts) == 2:
        return pairs_of_sides(*(text.lines(drop_invalid=drop_invalid) for text in texts))
    (text,) = texts
    if text.is_tmx:
        return text.units(drop_invalid=drop_invalid)
    return pairs_of_table(text.lines(drop_invalid=drop_invalid), text.label, note)


class _BadRows:
    """Counts the rows and units of a corpus that do not have the right form, and refuses too many."""

    def __init__(self, label: str, form: str, treatment: BadRows) -> None:
        self._label = label
        self._form = form
        self._treatment = treatment
        self._bad_rows = 0
        self._first_lines: list[int] = []

    def add(self, line: int, rows: int) -> None:
        """Count a bad row, the last of `rows`; raise CorpusError if the treatment is `error`, or for far too many."""
        if self._treatment == "error":
            raise CorpusError(f"{self._label}, line {line}: {self._form}; correct it, or set `corpus.bad_rows: drop`")
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
        raise CorpusError(
            f"{self._label}: {self._bad_rows:,} of {rows:,} rows do not have the right form (lines {numbers}{more}), "
            f"and 1% are allowed; {self._form}; correct the file, or give two files as `source_path` and `target_path`"
        )


def source_files(source: SourceConfig) -> list[Path]:
    """Return the files of `source` in the order of reading; raise CorpusError if one is missing or unsuitable."""
    return list(itertools.chain.from_iterable(_corpora(source)))


def _corpora(source: SourceConfig) -> list[tuple[Path, ...]]:
    named = f"corpus source `{source.name}`"
    files = [present_path(path) for path in (source.path, source.source_path, source.target_path) if path is not None]
    if len(files) == 2 and files[0] == files[1]:
        raise CorpusError(f"{named}: both sides are the same file, {files[0]}")
    for file in files:
        with storage_errors(file, "read"):
            is_there, is_folder, is_plain = file.exists(), file.is_dir(), file.is_file()
        if not is_there:
            advice = source.obtain or "check the path (it is relative to the current folder)"
            raise CorpusError(f"{named}: {file} does not exist. {advice.strip()}")
        if is_folder and source.path is None:
            raise CorpusError(f"{named}: {file} is a folder; give a file")
        if is_folder and source.source_member is not None:
            raise CorpusError(f"{named}: {file} is a folder; `source_member` and `target_member` name members of a zip")
        if is_folder:
            return _corpora_of_folder(file)
        if not is_plain:  # files are read twice, and a pipe or a device may never end
            raise CorpusError(f"{named}: {file} is a pipe or a device; write its text to a file and give that")
    return [tuple(files)]


def _corpora_of_folder(folder: Path) -> list[tuple[Path, ...]]:
    """Return the corpora in `folder` by name; hidden files and names like README or LICENSE are ignored."""
    with storage_errors(folder, "read"):
        entries = [entry for entry in folder.iterdir() if not _NO_TEXT.fullmatch(entry.name.lower())]
        names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)

    def unclear(problem: str) -> CorpusError:
        held = listing(names) or "nothing that could be a corpus"
        return CorpusError(f"the folder {folder}: {problem}. It holds: {held}")

    corpora: list[tuple[Path, ...]] = []
    sides: dict[str, dict[str, list[str]]] = {}
    for name in names:
        side = side_of(re.sub(_PACKED, "", name))
        if not (folder / name).is_file() or not (side or _is_whole(name)):
            raise unclear(f"`{listing([name])}`: unsupported file; move it, or make it a separate source")
        if side is None:
            corpora.append((folder / name,))
        else:
            sides.setdefault(side.pair, {"en": [], "fa": []})[side.language].append(name)
    for english, persian in (found.values() for found in sides.values()):
        if twice := next((found for found in (english, persian) if len(found) > 1), None):
            raise unclear(f"{listing(twice[:2])} are the same text; remove one")
        if not english or not persian:
            alone, language, other = (english, "English", "Persian") if english else (persian, "Persian", "English")
            problem = f"{listing(alone)} ({language}) has no {other} partner of the same name"
            raise unclear(f"{problem}; rename the files, or give them as a separate source")
        corpora.append((folder / english[0], folder / persian[0]))
    if not corpora:
        raise unclear("it has no zip, .tsv, .tmx or pair like X.en and X.fa")
    return sorted(corpora)


def listing(names: Sequence[str]) -> str:
    """Return the first twenty names for a message."""
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(excerpt(name, 200) for name in names[:20]) + more


class SideName(NamedTuple):
    """Corpus and language, as the name of a file gives them."""

    pair: str  # the same for the two sides of one corpus, and for no others
    language: Literal["en", "fa"]


def side_of(name: str) -> SideName | None:
    """Return corpus and language of a name like `en.txt`, `mizan_fa.txt` or `NAME.en-fa.en`; None without language."""
    match = _SIDE.fullmatch(name)
    if match is None:
        return None
    pair = f"{match['stem']}*{match['extension']}".lower()
    return SideName(pair, "en" if match["language"].lower() == "en" else "fa")


def _texts(source: SourceConfig, files: Sequence[Path], whole: str) -> list[_Text]:
    if len(files) == 1 and packing_of(files[0]) == "zip archive":
        members = choose_members(files[0], members_of(files[0]), source.source_member, source.target_member)
        return [_Text(files[0], member) for member in members]
    if source.source_member is not None:
        raise CorpusError(f"{whole} is not a zip archive; `source_member` and `target_member` name members of a zip")
    return [_Text(file) for file in files]


def choose_members(
    path: Path, names: Sequence[str], source_member: str | None, target_member: str | None
) -> tuple[str, ...]:
    """Return the English and the Persian member among `names`, or the one member that holds both sides.

    Given names are matched exactly, else without case, in any folder. Without given names, these are recognised:

    1. a pair like `en.txt` and `fa.txt`, `mizan_en.txt` and `mizan_fa.txt`, or `NAME.en-fa.en` and `NAME.en-fa.fa`;
    2. a single `.tmx` or `.tsv`;
    3. a pair `source` and `target`, with the English first unless their folder is called like `fa_en`.

    Raises CorpusError: no member matches, or several do; the message lists the members.
    """
    if source_member is not None and target_member is not None:
        chosen = _find_member(path, names, source_member), _find_member(path, names, target_member)
        if chosen[0] == chosen[1]:
            raise CorpusError(f"{path}: `source_member` and `target_member` are the same member, {chosen[0]}")
        return chosen
    texts = [name for name in names if not _NO_TEXT.fullmatch(name.rpartition("/")[2].lower())]
    pairs = _pairs_by_language(texts)
    tables = [(name,) for name in texts if name.lower().endswith((".tmx", ".tsv"))]
    for candidates in (pairs, tables, _pairs_by_role(texts)):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            break
    problem = "has several pairs of texts" if pairs else "has no pair of members like en.txt and fa.txt"
    if len(tables) > 1 and not pairs:
        listed = listing(names)
        raise CorpusError(f"{path} has several tables; unpack it, and give the folder or one of the files: {listed}")
    raise CorpusError(
        f"{path} {problem}; select them with `source_member` and `target_member`, for the first source with "
        "`--set corpus.sources.0.source_member=ENGLISH corpus.sources.0.target_member=PERSIAN`. Members: "
        f"{listing(names) or 'none'}"
    )


def _pairs_by_language(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the pairs of names that differ only in the language, English first; see `side_of`."""
    sides: dict[str, dict[tuple[str, str], list[str]]] = {"en": {}, "fa": {}}
    for name in names:
        folder, _, base = name.rpartition("/")
        if side := side_of(base):
            sides[side.language].setdefault((folder.lower(), side.pair), []).append(name)
    pairs: list[tuple[str, ...]] = []
    for key, english_names in sides["en"].items():
        pairs += itertools.product(english_names, sides["fa"].get(key, ()))
    return pairs


def _pairs_by_role(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the pairs of a `source` and a `target` in one folder, English first."""
    present = set(names)
    pairs: list[tuple[str, ...]] = []
    for name in names:
        match = re.fullmatch(r"(?P<folder>(?:.*/)?)source(?P<extension>(?:\.txt)?)", name)
        if match is None:
            continue
        partner = f"{match['folder']}target{match['extension']}"
        if partner in present:
            from_persian = re.search(r"(?<![a-z])(fa|fas|pes)[-_]en", match["folder"].lower())
            pairs.append((partner, name) if from_persian else (name, partner))
    return pairs


def _find_member(path: Path, names: Sequence[str], wanted: str) -> str:
    similar = [name for name in names if f"/{name}".lower().endswith(f"/{wanted}".lower())]
    if wanted in names or len(similar) == 1:
        return wanted if wanted in names else similar[0]
    if similar:
        raise CorpusError(f"{path} has several members called `{wanted}`; give one with its folder: {listing(similar)}")
    raise CorpusError(f"{path} has no member `{wanted}`. Members: {listing(names) or 'none'}")


def _unequal_sides(name: str, texts: Sequence[_Text]) -> CorpusError:
    """Return an error with the number of lines of each side, and the first empty line of each."""
    counts, empty = [], []
    for text in texts:
        count, first_empty = 0, 0
        for count, line in enumerate(text.lines(drop_invalid=True), start=1):
            first_empty = first_empty or (count if type(line) is str and not line.strip() else 0)
        counts.append(count)
        empty += [f"line {first_empty:,} of {text.label}"] if first_empty else []
    return CorpusError(
        f"corpus source `{name}`: the two sides differ in length: {texts[0].label} has {counts[0]:,} lines, "
        f"{texts[1].label} has {counts[1]:,}; line N of both sides must be a pair, so get the corpus again or "
        "correct it" + (f". First empty line: {' and '.join(empty)}" if empty else "")
    )


def _refuse_swapped(pairs: Sequence[Pair], whole: str, labels: Sequence[str]) -> None:
    """Raise CorpusError if 90% of the pairs with letters on both sides have Persian first and English second."""
    with_letters = swapped = 0
    for pair in pairs:
        latin, arabic = ([len(letters.findall(text[:200])) for text in pair[1:3]] for letters in (_LATIN, _ARABIC))
        if latin[0] + arabic[0] and latin[1] + arabic[1]:
            with_letters += 1
            swapped += arabic[0] > latin[0] and latin[1] > arabic[1]
    if swapped and swapped >= 0.9 * with_letters:
        first, second = labels if len(labels) == 2 else ("the first column", "the second")
        raise CorpusError(
            f"{whole}: the two sides are swapped: {swapped:,} of the first {with_letters:,} pairs with letters are "
            f"Persian in {first} and English in {second}; swap the columns, the names of the files, or "
            "`source_path` and `target_path` (in a zip `source_member` and `target_member`)"
        )
