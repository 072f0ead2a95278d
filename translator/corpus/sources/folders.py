"""What is a corpus in a folder: zips, tables and pairs of files, and nothing that is left out without a word."""

import fnmatch
from pathlib import Path
from typing import Final

from translator.corpus.sources.members import SideName, listing, shown, side_of, without_compression
from translator.errors import CorpusError
from translator.storage import storage_errors

_NO_TEXT: Final = (
    *("readme*", "license*", "licence*", "copying*", "notice*", "citation*", "changelog*", "changes*"),
    *("*.md", "*.rst", "*.pdf", "*.html", "*.json", "*.yaml", "*.yml", "*.xml", "*.ids"),
    *("checksum*", "md5sum*", "sha*sum*", "*.md5", "*.sha1", "*.sha256", "*.sha512", "*.sig", "*.asc"),
    *("__macosx", "thumbs.db", "desktop.ini"),
)
"""Names of what lies beside corpora, in lower case."""


def corpora_of_folder(folder: Path) -> list[tuple[Path, ...]]:
    """Return the corpora in `folder` by name: a zip or a TSV alone, or an English file and its Persian one.

    The folder alone is looked at, not those inside it. Hidden files, and names like README or LICENSE, are passed over.

    Raises:
        CorpusError: a text has no partner or more than one, something else is in the folder, or nothing at all.
        StorageError: the folder may not be read.
    """
    with storage_errors(folder, "read"):
        entries = sorted(entry for entry in folder.iterdir() if not _is_no_text(entry.name))
        files = {entry.name: entry for entry in entries if entry.is_file()}
        names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]
    corpora: list[tuple[Path, ...]] = []
    sides: dict[SideName, list[Path]] = {}
    for name in names:
        plain = without_compression(name)
        side = side_of(plain)
        if name in files and (name.lower().endswith(".zip") or plain.lower().endswith(".tsv")):
            corpora.append((files[name],))
        elif name in files and side is not None:
            sides.setdefault(side, []).append(files[name])
        else:
            reason = "folders inside a folder are not read" if name.endswith("/") else "this is not read"
            raise _unclear(folder, f"`{shown(name)}`: {reason}; move it, or make it a source of its own", names)
    for side, found in sides.items():
        partners = sides.get(SideName(side.pair, "fa" if side.language == "en" else "en"), [])
        if len(found) > 1:
            raise _unclear(
                folder, f"{shown(found[0].name)} and {shown(found[1].name)} are one text twice; remove one", names
            )
        if not partners:
            languages = ("English", "Persian") if side.language == "en" else ("Persian", "English")
            problem = f"{shown(found[0].name)} ({languages[0]}) has no {languages[1]} partner of the same name"
            raise _unclear(folder, f"{problem}; rename the files, or give them as a source of their own", names)
        if side.language == "en":
            corpora.append((found[0], *partners))
    if not corpora:
        raise _unclear(folder, "there is no zip, no .tsv and no pair like X.en and X.fa in it", names)
    return sorted(corpora)


def _is_no_text(name: str) -> bool:
    lower = name.lower()
    return lower.startswith(".") or any(fnmatch.fnmatchcase(lower, pattern) for pattern in _NO_TEXT)


def _unclear(folder: Path, problem: str, names: list[str]) -> CorpusError:
    return CorpusError(
        f"the folder {folder}: {problem}. It holds: {listing(names) or 'nothing that could be a corpus'}"
    )
