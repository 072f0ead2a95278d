"""Sources of a recipe: how the command line names them, and which of their files hold a corpus."""

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import yaml
from pydantic import TypeAdapter, ValidationError

from translator.config import SourceConfig
from translator.config.document import Document
from translator.config.paths import expand_homes, with_shipped_sample
from translator.corpus.reading.forms import TextFile, form_of, unread_form, without_packing
from translator.corpus.reading.languages import LanguageCode, paired_names, split_language
from translator.corpus.reading.packing import members_of, packing_of, refuse_stream
from translator.errors import CorpusError, InputError
from translator.run.text import excerpt

_NO_CORPUS: Final = re.compile(r"\..*|.*\.json|.*\.meta\.jsonl(\.gz)?", re.IGNORECASE)  # hidden files and metadata
_TRAINING_SPLIT: Final = re.compile("train(?![a-z])", re.IGNORECASE)
_HELD_OUT_SPLIT: Final = re.compile("(validation|valid|val|devtest|dev|test|eval)(?![a-z])", re.IGNORECASE)
_LONGEST_NAME: Final = 50  # characters; a number, or "-new", may follow, and a recipe allows 60
_ROLES: Final[dict[str, LanguageCode]] = {"source": "en", "target": "fa"}  # names of the sides in packages of Argos

_LONGEST_LISTING: Final = 1000  # characters of a message
Corpus = tuple[TextFile, ...]
"""The texts of one corpus: one that holds both sides, or the English and the Persian one."""


# --- on the command line ---


def _refuse_control_characters(path: str) -> None:
    """Raise InputError for a path with a control character."""
    if re.search(r"[\x00-\x1f\x7f]", path):  # a recipe could not name it
        raise InputError(f"the path {path!r} has a control character, such as a tab or a line break; rename the file")


def corpus_argument(text: str) -> SourceConfig:
    """Return the corpus at a path, or of two files as `ENGLISH:PERSIAN`; raise InputError if there is none."""
    # 1. One path, which may have a colon.
    _refuse_control_characters(text)
    text = expand_homes(text)
    if path_exists(text):
        return SourceConfig(name=_name(text), path=text)

    # 2. Two paths.
    english, colon, persian = text.partition(":")
    missing = [path for path in (english, persian) if not path_exists(path)] if colon else [text]
    if missing:
        raise InputError(
            f"`{text}` is not a corpus: {' and '.join(f'`{path}`' for path in missing)} cannot be found; give a zip, "
            "TSV, CSV, JSON Lines, Parquet or TMX, a folder of these, or two text files as ENGLISH:PERSIAN"
        )
    return SourceConfig(name=_name(english), source_path=english, target_path=persian)


def corpora_in_arguments(arguments: Sequence[Sequence[str]]) -> list[SourceConfig]:
    """Return the corpora of all `--corpus` arguments; two text files are the two sides of one corpus.

    `arguments` has the paths after each `--corpus`.

    Raises InputError: a corpus or a side of it is missing, or a path has control characters.
    """
    # 1. The corpora. Two files of which neither holds a whole corpus are the two sides of one. English comes first,
    # unless the name of the second file says that it is English.
    corpora: list[SourceConfig] = []
    for paths in arguments:
        _refuse_control_characters("".join(paths))
        files = [path for path in paths if path_exists(path) and with_shipped_sample(path).is_file()]
        sides = [path for path in files if not _is_whole(path)]
        if len(paths) == len(sides) == 2:
            english, persian = paths
            corpus_and_language = side_of(Path(persian).name)
            if corpus_and_language is not None and corpus_and_language[1] == "en":
                english, persian = persian, english
            corpora.append(SourceConfig(name=_name(english), source_path=english, target_path=persian))
        else:
            corpora += map(corpus_argument, paths)

    # 2. Each corpus has a name of its own: my, my-2, my-3.
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
    text = yaml.safe_dump({"corpus": {"sources": [source.model_dump(mode="json") for source in sources]}})
    document = Document(text)
    for override in overrides:
        if override.strip().startswith("corpus.sources."):
            document.override(override)
    try:
        return TypeAdapter(list[SourceConfig]).validate_python(document.values["corpus"]["sources"])
    except ValidationError:
        return list(sources)


def _is_whole(path: str) -> bool:
    """Return whether the suffix of a file means that it holds both sides of a corpus."""
    return path.lower().endswith(".zip") or form_of(path) is not None


def path_exists(path: str) -> bool:
    """Return whether `path` exists or belongs to the embedded sample."""
    return path != "" and with_shipped_sample(path).exists()


def _name(path: str) -> str:
    """Return the name of the corpus at `path`: that of the file without its suffixes, as a recipe allows it."""
    stem = Path(path).resolve().name.split(".")[0]
    return re.sub(r"[^\w-]+", "_", stem).lstrip("-")[:_LONGEST_NAME] or "corpus"


# --- files ---


def source_files(source: SourceConfig) -> list[Path]:
    """Return the files of `source` in the order of reading; raise CorpusError as `corpora_of` does."""
    return list(dict.fromkeys(text.file for text in itertools.chain.from_iterable(corpora_of(source))))


def corpora_of(source: SourceConfig, note: Callable[[str], None] | None = None) -> list[Corpus]:
    """Return each corpus of `source`, in the order of reading: one text that holds both sides, or two.

    A folder and a zip may have several corpora. `note`, if given, is called
    with a message on the files that belong to no corpus.

    Raises CorpusError: a file or a member of a zip is missing, unsuitable, or of a form that is not read.
    """
    # 1. The files that `source` names, which must be there.
    files = [
        with_shipped_sample(path) for path in (source.path, source.source_path, source.target_path) if path is not None
    ]
    for file in files:
        if not file.exists():
            advice = source.obtain or "check the path (it is relative to the current folder)"
            raise CorpusError(f"corpus source `{source.name}`: {file} does not exist. {advice.strip()}")
        refuse_stream(file, f"corpus source `{source.name}`: {file}")

    # 2. The corpora as files: those among the files of a folder, or the one that `source` names.
    if source.path is not None and files[0].is_dir():
        (folder,) = files
        names = [entry.name for entry in folder.iterdir() if entry.is_file()]
        corpora_in_folder = corpora_among(names, str(folder), note)
        corpora_as_files = [tuple(TextFile(folder / name) for name in corpus) for corpus in corpora_in_folder]
    else:
        corpora_as_files = [tuple(map(TextFile, files))]

    # 3. A zip among them stands for the corpora in it.
    corpora: list[Corpus] = []
    for corpus in corpora_as_files:
        if len(corpus) == 1 and packing_of(corpus[0].file) == "zip archive":
            corpora += _corpora_of_zip(corpus[0].file, source, note)
        elif source.source_member is not None:
            raise CorpusError(
                f"{corpus[0].label} is not a zip archive; `source_member` and `target_member` name members of a zip"
            )
        else:
            corpora.append(corpus)

    # 4. Refuse forms that cannot be read as a corpus: those that `unread_form` knows, except PO and MO.
    for text in itertools.chain.from_iterable(corpora):
        unread = unread_form(text.name)
        if unread is not None and form_of(text.name) is None:
            raise CorpusError(
                f"{text.label} is {unread.kind}, which cannot be read as a corpus; write its texts to a TSV, with "
                "English, a tab and Persian on each line, or convert it to TMX"
            )
    return corpora


def _corpora_of_zip(archive: Path, source: SourceConfig, note: Callable[[str], None] | None) -> list[Corpus]:
    """Return the corpora in a zip, or the one whose members `source` names."""
    names = members_of(archive)
    corpora: list[tuple[str, ...]]
    if source.source_member is not None and source.target_member is not None:
        corpora = [(source.source_member, source.target_member)]
        for member in corpora[0]:
            if member not in names:
                raise CorpusError(f"{archive} has no member `{member}`. Members: {listing(names)}")
    else:
        corpora = corpora_among(names, str(archive), note)
    return [tuple(TextFile(archive, member) for member in corpus) for corpus in corpora]


def corpora_among(names: Sequence[str], label: str, note: Callable[[str], None] | None = None) -> list[tuple[str, ...]]:
    """Return the corpora among the files of a folder or the members of a zip.

    A corpus is a table, a TMX and the like, or two files whose names differ only in the language. If a corpus is called
    `train`, those that are called `dev`, `test` and the like are left out.

    Args:
        names: in any order, perhaps with folders before them.
        label: name of the folder or zip in messages.
        note: is called with a message on the names that belong to no corpus; None: there is no message.

    Raises CorpusError: there is no corpus.
    """
    # 1. Each file is a whole corpus, or a side of one, or neither.
    names = sorted(name for name in names if not _NO_CORPUS.fullmatch(Path(name).name))
    whole_names = [name for name in names if side_of(name) is None and _is_whole(name)]
    corpora: list[tuple[str, ...]] = [(name,) for name in whole_names]
    corpora += paired_names(names, side_of)
    corpora.sort()
    if not corpora:
        raise CorpusError(
            f"{label} has no table, TMX or pair of texts like X.en and X.fa; give its files as `source_path` and "
            f"`target_path`. It holds: {listing(names)}"
        )

    # 2. Leave out held-out text beside training text. The name of a corpus is that of its first file.
    if any(_TRAINING_SPLIT.match(Path(corpus[0]).name) for corpus in corpora):
        corpora = [corpus for corpus in corpora if not _HELD_OUT_SPLIT.match(Path(corpus[0]).name)]

    # 3. A note on what is not read.
    read_names = set(itertools.chain.from_iterable(corpora))
    other_names = [name for name in names if name not in read_names]
    if other_names and note is not None:
        note(f"{label}: not read: {listing(other_names)}; held-out text can be given as a test set")
    return corpora


def side_of(name: str) -> tuple[str, LanguageCode] | None:
    """Return corpus and language of a name like `en.txt`, `train.fas` or `x/NAME.en-fa.en`; None without language.

    The corpus is the name with a star for the language, such as `x/NAME.en-fa.*`. But for its case, it is the same for
    the names of its two sides, and for no others.
    """
    folder, slash, base = without_packing(name).rpartition("/")
    extension = ".txt" if base.lower().endswith(".txt") else ""
    base = base[: len(base) - len(extension)]
    # The name of a side ends in a language, or is `source` or `target`.
    stem, language = split_language(base) or ("", _ROLES.get(base))
    return None if language is None else (f"{folder}{slash}{stem}*{extension}", language)


def listing(names: Sequence[str]) -> str:
    """Return names for a message, cut to 1,000 characters; `none` if there are none."""
    return excerpt(", ".join(names), _LONGEST_LISTING) or "none"
