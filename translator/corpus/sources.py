"""Sources of a recipe: their files, zips and folders, and their raw pairs as a stream, read in place."""

import contextlib
import fnmatch
import itertools
import re
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple
from zipfile import ZipFile

from translator.config import SourceConfig
from translator.config.keys import present_path
from translator.corpus.lines import (
    Pair,
    UnequalSidesError,
    damaged_files,
    open_text,
    packing_of,
    pairs_of_sides,
    pairs_of_table,
    read_lines,
)
from translator.corpus.tmx import pairs_of_tmx
from translator.errors import CorpusError, InputError
from translator.run.storage import storage_errors
from translator.run.text import excerpt

_LOOKED_AT: Final = 1000  # pairs that show whether the sides are swapped
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


def corpus_argument(text: str) -> SourceConfig:
    """Return the corpus at a path, or of two files as `ENGLISH:PERSIAN`; raise InputError if it is missing."""
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
    """Return the corpora of all `--corpus` arguments; two text files are the two sides of one corpus."""
    found: list[SourceConfig] = []
    for paths in arguments:
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

    def lines(self, *, drop_invalid: bool) -> Iterator[str]:
        """Yield its lines; see `read_lines`."""
        with open_text(self.file, self.member) as stream:
            for lines in read_lines(stream, self.label, drop_invalid=drop_invalid):
                yield from lines

    def units(self) -> Iterator[Pair]:
        """Yield the pairs of a TMX document."""
        with open_text(self.file) as stream:
            yield from pairs_of_tmx(stream, self.label)


def read_pairs(source: SourceConfig) -> Generator[Pair, None, None]:
    """Yield the pairs of `source` in order, raw, at most `max_pairs` of them; memory stays flat.

    The corpora of a folder are read one after the other, in the order of their names. A pair with a line of more than
    1 MiB, or that is not UTF-8 under `invalid_utf8: drop`, has empty texts and the name of its `defect`.

    Raises CorpusError: a file is missing, damaged, empty, not UTF-8, not a table, or its sides are swapped or unequal.
    """
    left = source.max_pairs
    for files in _corpora(source):
        whole = f"corpus source `{source.name}`: {' and '.join(map(str, files))}"
        texts = _texts(source, files, whole)
        pairs = itertools.islice(_pairs_of(texts, drop_invalid=source.invalid_utf8 == "drop"), left)
        try:
            first = list(itertools.islice(pairs, _LOOKED_AT))
            if not first:
                raise CorpusError(f"{whole}: it has no lines; check that it is the right file")
            _refuse_swapped(first, whole, [text.label for text in texts])
            count = 0
            for count, pair in enumerate(itertools.chain(first, pairs), start=1):  # noqa: B007
                yield pair
        except UnequalSidesError:
            raise _unequal_sides(source.name, texts) from None
        if left is not None and (left := left - count) == 0:
            break


def _pairs_of(texts: Sequence[_Text], *, drop_invalid: bool) -> Iterator[Pair]:
    if len(texts) == 2:
        return pairs_of_sides(*(text.lines(drop_invalid=drop_invalid) for text in texts))
    if re.sub(_PACKED, "", texts[0].file.name).lower().endswith(".tmx"):
        return texts[0].units()
    return pairs_of_table(texts[0].lines(drop_invalid=drop_invalid), texts[0].file)


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
        with damaged_files(files[0]), ZipFile(files[0]) as archive:
            names = [member.filename for member in archive.infolist() if not member.is_dir()]
        members = choose_members(files[0], names, source.source_member, source.target_member)
        return [_Text(files[0], member) for member in members]
    if source.source_member is not None:
        raise CorpusError(f"{whole} is not a zip archive; `source_member` and `target_member` name members of a zip")
    return [_Text(file) for file in files]


def choose_members(
    path: Path, names: Sequence[str], source_member: str | None, target_member: str | None
) -> tuple[str, str]:
    """Return the names of the English and the Persian member among `names`.

    Given names are matched exactly, else without case, in any folder. Without given names, a pair like `en.txt` and
    `fa.txt`, `mizan_en.txt` and `mizan_fa.txt`, or `NAME.en-fa.en` and `NAME.en-fa.fa` is recognised.

    Raises CorpusError: no member matches, or several do; the message lists the members.
    """
    if source_member is not None and target_member is not None:
        chosen = _find_member(path, names, source_member), _find_member(path, names, target_member)
        if chosen[0] == chosen[1]:
            raise CorpusError(f"{path}: `source_member` and `target_member` are the same member, {chosen[0]}")
        return chosen
    sides: dict[str, list[tuple[tuple[str, str], str]]] = {"en": [], "fa": []}
    for name in names:
        folder, _, base = name.rpartition("/")
        side = side_of(base)
        if side is not None and not base.startswith("._"):  # macOS adds files of this name
            sides[side.language].append(((folder.lower(), side.pair), name))
    pairs = [(name, other) for key, name in sides["en"] for its_key, other in sides["fa"] if key == its_key]
    if len(pairs) == 1:
        return pairs[0]
    problem = "has several pairs of texts" if pairs else "has no pair of members like en.txt and fa.txt"
    advice = "select them with `source_member` and `target_member`"
    raise CorpusError(f"{path} {problem}; {advice}. Members: {listing(names) or 'none'}")


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
