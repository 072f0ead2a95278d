"""Sources of a recipe: how the command line names them, and which files and members of zips hold their texts."""

import contextlib
import fnmatch
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from translator.config import SourceConfig
from translator.config.document import Document, apply_override
from translator.config.paths import expand_homes, present_path
from translator.corpus.reading.forms import form_of, without_packing
from translator.corpus.reading.languages import LanguageCode, split_language
from translator.errors import CorpusError, InputError
from translator.run.text import excerpt

_NAMES: Final = (
    *(".*", "readme*", "license*", "licence*", "copying*", "notice*", "citation*", "changelog*", "changes*"),
    *("*.md", "*.rst", "*.pdf", "*.html", "*.yaml", "*.yml", "*.xml", "*.ids"),
    *("dataset_info*.json", "dataset_dict.json", "state.json", "metadata.json", "datapackage.json", "package.json"),
    *("config.json", "info.json", "stats.json", "statistics.json"),
    *("checksum*", "md5sum*", "sha*sum*", "*.md5", "*.sha1", "*.sha256", "*.sha512", "*.sig", "*.asc"),
    *("__macosx", "thumbs.db", "desktop.ini"),
    *("mtdata.signature.txt", "*.meta.jsonl*", "train-parts", "mono-train-parts", "tests", "mono-tests"),  # of mtdata
)
_NO_TEXT: Final = re.compile("|".join(map(fnmatch.translate, _NAMES)))  # files that lie beside corpora, in lower case

_TRAINING_SPLIT: Final = re.compile("train(?![a-z])", re.IGNORECASE)
_HELD_OUT_SPLIT: Final = re.compile("(validation|valid|val|devtest|dev|test|eval)(?![a-z])", re.IGNORECASE)

_LONGEST_LISTING: Final = 1000  # characters of a message
CorpusFiles = tuple[Path, ...]
"""The files of one corpus: one whole file that holds both sides, or the English and the Persian file."""


def _refuse_control_characters(path: str) -> None:
    if re.search(r"[\x00-\x1f\x7f]", path):  # a recipe could not name it
        raise InputError(f"the path {path!r} has a control character, such as a tab or a line break; rename the file")


def corpus_argument(text: str) -> SourceConfig:
    """Return the corpus at a path, or of two files as `ENGLISH:PERSIAN`; raise InputError if there is none."""
    _refuse_control_characters(text)
    text = expand_homes(text)
    if path_exists(text):
        return SourceConfig(name=_name(text), path=text)
    halves = [(text[: colon.start()], text[colon.end() :]) for colon in re.finditer(":", text)]
    for english, persian in halves:
        if path_exists(english) and path_exists(persian):
            return SourceConfig(name=_name(english), source_path=english, target_path=persian)
    missing = [half for half in halves[0] if not path_exists(half)] if len(halves) == 1 else [text]
    raise InputError(
        f"`{text}` is not a corpus: {' and '.join(f'`{path}`' for path in missing)} cannot be found; give a zip, TSV, "
        "CSV, JSON Lines, Parquet or TMX, a folder of these, or two text files as ENGLISH:PERSIAN"
    )


def corpora_in_arguments(arguments: Sequence[Sequence[str]]) -> list[SourceConfig]:
    """Return the corpora of all `--corpus` arguments; two text files are the two sides of one corpus.

    Raises InputError: a corpus or a side of it is missing, or a path has control characters.
    """
    corpora: list[SourceConfig] = []
    for paths in arguments:
        for path in paths:
            _refuse_control_characters(path)
        texts = [path for path in paths if path_exists(path) and present_path(path).is_file() and not _is_whole(path)]
        sides = [path for path in texts if side_of(Path(path).name)]
        if len(texts) == len(paths) and (len(texts) > 2 or (len(texts) == 1 and sides)):
            count = "one text file is one side of a corpus" if len(texts) == 1 else "two text files make one corpus"
            raise InputError(f"--corpus {' '.join(texts)}: {count}; give --corpus ENGLISH PERSIAN for each corpus")
        if len(paths) == len(texts) == 2:
            side = side_of(Path(paths[1]).name)
            english, persian = reversed(paths) if side and side[1] == "en" else paths
            corpora.append(SourceConfig(name=_name(english), source_path=english, target_path=persian))
        else:
            corpora += map(corpus_argument, paths)

    # Each corpus has a name of its own: my, my-2, my-3.
    corpora_by_name: dict[str, SourceConfig] = {}
    for corpus in corpora:
        name = corpus.name
        number = 2
        while name in corpora_by_name:
            name = f"{corpus.name}-{number}"
            number += 1
        corpora_by_name[name] = corpus.model_copy(update={"name": name})
    return list(corpora_by_name.values())


def with_overrides(sources: Sequence[SourceConfig], overrides: Sequence[str]) -> list[SourceConfig]:
    """Return `sources` with the values that overrides like `corpus.sources.0.min_score.at_least=1` give them.

    Mistakes are left to the recipe that `sources` become a part of, which gets the same overrides.
    """
    overridden_sources = []
    for number, source in enumerate(sources):
        document = Document(values=source.model_dump())
        prefix = f"corpus.sources.{number}."
        for override in overrides:
            # The path of the key inside the source, such as `min_score.column`.
            key_path = override.partition("=")[0].strip().removeprefix(prefix)
            is_of_source = override.strip().startswith(prefix)
            if is_of_source and key_path.split(".")[0] in SourceConfig.model_fields:
                apply_override(override.strip().removeprefix(prefix), document)
        with contextlib.suppress(ValidationError):
            source = SourceConfig.model_validate(document.values)
        overridden_sources.append(source)
    return overridden_sources


def _is_whole(path: str) -> bool:
    """Return whether the suffix of a file means that it holds both sides of a corpus."""
    return path.lower().endswith(".zip") or form_of(path) is not None


def path_exists(path: str) -> bool:
    """Return whether `path` exists or belongs to the embedded sample; raise PermissionError where that is a secret."""
    try:
        return path != "" and present_path(path).exists()
    except PermissionError:
        raise
    except (OSError, ValueError):  # path too long, or with a NUL
        return False


def _name(path: str) -> str:
    stem = Path(path).resolve().name.split(".")[0]
    return re.sub(r"[^\w-]+", "_", stem).lstrip("-")[:60] or "corpus"


def source_files(source: SourceConfig) -> list[Path]:
    """Return the files of `source` in the order of reading; raise CorpusError if one is missing or unsuitable."""
    return list(itertools.chain.from_iterable(files_by_corpus(source)))


def files_by_corpus(source: SourceConfig) -> list[CorpusFiles]:
    """Return the files of each corpus of `source`, in the order of reading.

    A folder may have several corpora; any other source is one corpus. A folder with files like `train.en` is read
    without its held-out text, files like `dev.en` and `test.en`.

    Raises CorpusError: a file is missing or unsuitable.
    """
    paths = (source.path, source.source_path, source.target_path)
    files = [present_path(path) for path in paths if path is not None]
    _refuse_unsuitable(source, files)
    if not files[0].is_dir():
        return [tuple(files)]
    corpora = _files_by_corpus_in_folder(files[0])
    held_out_corpora = set(_held_out_corpora(corpora))
    return [corpus for corpus in corpora if corpus not in held_out_corpora]


def held_out_names(source: SourceConfig) -> list[str]:
    """Return the names of the files in a folder that `files_by_corpus` leaves out because they are held-out text."""
    if source.path is None or not present_path(source.path).is_dir():
        return []
    left_out = _held_out_corpora(_files_by_corpus_in_folder(present_path(source.path)))
    return [file.name for file in itertools.chain.from_iterable(left_out)]


def _held_out_corpora(corpora: Sequence[CorpusFiles]) -> list[CorpusFiles]:
    """Return those of the corpora of a folder that are the held-out text of another, by their names."""
    if not any(_TRAINING_SPLIT.match(files[0].name) for files in corpora):
        return []
    return [files for files in corpora if _HELD_OUT_SPLIT.match(files[0].name)]


def _refuse_unsuitable(source: SourceConfig, files: Sequence[Path]) -> None:
    """Raise CorpusError unless `files` are one file or folder, or two different files."""
    label = f"corpus source `{source.name}`"
    if len(files) == 2 and files[0] == files[1]:
        raise CorpusError(f"{label}: both sides are the same file, {files[0]}")
    for file in files:
        if not file.exists():
            advice = source.obtain or "check the path (it is relative to the current folder)"
            raise CorpusError(f"{label}: {file} does not exist. {advice.strip()}")
        is_folder = file.is_dir()
        if is_folder and source.path is None:
            raise CorpusError(f"{label}: {file} is a folder; give a file")
        if is_folder and source.source_member is not None:
            raise CorpusError(f"{label}: {file} is a folder; `source_member` and `target_member` name members of a zip")
        # Files are read twice, and a pipe or a device may never end.
        if not is_folder and not file.is_file():
            raise CorpusError(f"{label}: {file} is a pipe or a device; write its text to a file and give that")


def _files_by_corpus_in_folder(folder: Path) -> list[CorpusFiles]:
    """Return the files of each corpus in `folder`, by name; hidden files, README, LICENSE and the like are ignored.

    A folder that has nothing else but one folder, as a data set of the Hub may have `data`, is read as that folder.
    """
    entries = [entry for entry in folder.iterdir() if not _NO_TEXT.fullmatch(entry.name.lower())]
    if len(entries) == 1 and entries[0].is_dir():
        return _files_by_corpus_in_folder(entries[0])
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)

    def unclear(problem: str) -> CorpusError:
        content = listing(names) or "nothing that could be a corpus"
        return CorpusError(f"the folder {folder}: {problem}. It holds: {content}")

    # 1. Each file is a whole corpus or a side of one.
    corpora: list[CorpusFiles] = []
    for name in names:
        is_side = side_of(name) is not None
        if not (folder / name).is_file() or not (is_side or _is_whole(name)):
            raise unclear(f"`{listing([name])}`: unsupported file; move it, or make it a separate source")
        if not is_side:
            corpora.append((folder / name,))

    # 2. The sides make pairs.
    for english, persian in _sides_by_corpus(names):
        for side_names in (english, persian):
            if len(side_names) > 1:
                raise unclear(f"{listing(side_names)} are the same text; remove one")
        if not english or not persian:
            raise unclear(
                f"{listing(english or persian)} has no partner of the same name in the other language; rename the "
                "files, or give them as a separate source"
            )
        corpora.append((folder / english[0], folder / persian[0]))
    if not corpora:
        raise unclear("it has no zip, .tsv, .csv, .jsonl, .parquet, .tmx or pair like X.en and X.fa")
    return sorted(corpora)


def _sides_by_corpus(names: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Return the English and the Persian names of each corpus, one of each if all is well; see `side_of`."""
    sides_by_corpus: dict[str, tuple[list[str], list[str]]] = {}
    for name in names:
        side = side_of(name)
        if side is not None:
            corpus, language = side
            english, persian = sides_by_corpus.setdefault(corpus, ([], []))
            (english if language == "en" else persian).append(name)
    return list(sides_by_corpus.values())


def side_of(name: str) -> tuple[str, LanguageCode] | None:
    """Return corpus and language of a name like `en.txt`, `train.fas` or `x/NAME.en-fa.en`; None without language.

    The corpus is the same for the names of its two sides, and for no others.
    """
    folder, slash, base = without_packing(name).rpartition("/")
    extension = ".txt" if base.lower().endswith(".txt") else ""
    side = split_language(base[: len(base) - len(extension)])
    if side is None:
        return None
    stem, language = side
    return f"{folder}{slash}{stem}*{extension}".lower(), language


def listing(names: Sequence[str]) -> str:
    """Return names for a message."""
    return excerpt(", ".join(names), _LONGEST_LISTING)


def choose_members(
    path: Path, names: Sequence[str], source_member: str | None, target_member: str | None
) -> tuple[str, ...]:
    """Return the English and the Persian member among `names`, or the one member that holds both sides.

    Given names are matched exactly, else without case, in any folder. Without given names, these are recognised:

    1. a pair like `en.txt` and `fa.txt`, `train.eng` and `train.fas`, or `NAME.en-pes.en` and `NAME.en-pes.pes`;
    2. a single table or TMX;
    3. a pair `source` and `target`, as Argos packs them.

    Raises CorpusError: no member matches, or several do; the message lists the members.
    """
    if source_member is not None and target_member is not None:
        english = _find_member(path, names, source_member)
        persian = _find_member(path, names, target_member)
        if english == persian:
            raise CorpusError(f"{path}: `source_member` and `target_member` are the same member, {english}")
        return english, persian
    texts = [name for name in names if not _NO_TEXT.fullmatch(name.rpartition("/")[2].lower())]
    pairs: list[tuple[str, ...]] = []
    for english_names, persian_names in _sides_by_corpus(texts):
        pairs += itertools.product(english_names, persian_names)
    tables = [(name,) for name in texts if form_of(name) is not None and without_packing(name) == name]
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


def _pairs_by_role(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the pairs of a `source`, which is English, and a `target` in one folder."""
    pairs: list[tuple[str, ...]] = []
    for name in names:
        folder, slash, base = name.rpartition("/")
        partner = f"{folder}{slash}{base.replace('source', 'target')}"
        if base in ("source", "source.txt") and partner in names:
            pairs.append((name, partner))
    return pairs


def _find_member(path: Path, names: Sequence[str], member: str) -> str:
    """Return the one of `names` that is called `member`: exactly, else without case, in any folder."""
    if member in names:
        return member
    similar = [name for name in names if f"/{name}".lower().endswith(f"/{member}".lower())]
    if not similar:
        raise CorpusError(f"{path} has no member `{member}`. Members: {listing(names) or 'none'}")
    if len(similar) > 1:
        raise CorpusError(f"{path} has several members called `{member}`; give one with its folder: {listing(similar)}")
    return similar[0]
