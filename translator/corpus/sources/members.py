"""Which member of a zip, or file of a folder, is which language, told by its name."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from translator.corpus.sources.compression import SUFFIXES
from translator.errors import CorpusError

_LISTED: Final = 20
_LONGEST_NAME: Final = 200
_SIDE: Final = re.compile(
    r"(?P<stem>(?:.*[._-])?)(?P<language>en|fa)(?P<extension>(?:\.txt)?)", re.IGNORECASE | re.DOTALL
)


class SideName(NamedTuple):
    """What the name of a text says."""

    pair: str
    """The same for the two sides of one corpus, and for no others."""
    language: Literal["en", "fa"]


def side_of(name: str) -> SideName | None:
    """Return what a name like `en.txt`, `mizan_fa.txt` or `NAME.en-fa.en` says; None if it names no language."""
    match = _SIDE.fullmatch(name)
    if match is None:
        return None
    pair = f"{match['stem']}*{match['extension']}".lower()
    return SideName(pair, "en" if match["language"].lower() == "en" else "fa")


def without_compression(name: str) -> str:
    """Return the name of a file without `.gz`, `.xz` or `.zst`."""
    stem, dot, suffix = name.rpartition(".")
    return stem if dot + suffix.lower() in SUFFIXES else name


def shown(name: str) -> str:
    """Return a name for a message of one line, whatever characters are in it and however many."""
    if not name.replace("\u200c", "").isprintable():
        name = ascii(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def listing(names: Sequence[str]) -> str:
    """Return names for a message, the first twenty."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(shown, names[:_LISTED])) + more


def choose_members(
    path: Path, names: Sequence[str], source_member: str | None, target_member: str | None
) -> tuple[str, str]:
    """Return the names of the English and the Persian member among `names`.

    Given names are matched whole, else without case, else by their last part in any folder. Without given names, a pair
    like `en.txt` and `fa.txt`, `mizan_en.txt` and `mizan_fa.txt`, or `NAME.en-fa.en` and `NAME.en-fa.fa` is recognised.

    Raises:
        CorpusError: no member fits, or several do; the message lists the members.
    """
    if source_member is not None and target_member is not None:
        chosen = _find_member(path, names, source_member), _find_member(path, names, target_member)
        if chosen[0] == chosen[1]:
            raise CorpusError(f"{path}: `source_member` and `target_member` are the same member, {shown(chosen[0])}")
        return chosen
    english: list[tuple[tuple[str, str], str]] = []
    persian: dict[tuple[str, str], list[str]] = {}
    for name in names:
        folder, _, base = name.rpartition("/")
        side = side_of(base)
        if side is None or base.startswith("._"):  # ._ is what macOS adds of its own
            continue
        key = folder.lower(), side.pair
        if side.language == "en":
            english.append((key, name))
        else:
            persian.setdefault(key, []).append(name)
    pairs = [(name, other) for key, name in english for other in persian.get(key, ())]
    if len(pairs) == 1:
        return pairs[0]
    problem = "holds several pairs of texts" if pairs else "holds no pair of members like en.txt and fa.txt"
    raise CorpusError(
        f"{path} {problem}; name the right ones with `source_member` and `target_member`. Members: {_members(names)}"
    )


def _find_member(path: Path, names: Sequence[str], wanted: str) -> str:
    lower = wanted.lower()
    for found in (
        [name for name in names if name == wanted],
        [name for name in names if name.lower() == lower],
        [name for name in names if name.lower().rpartition("/")[2] == lower],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise CorpusError(
                f"{path} has several members called `{wanted}`; give one with its folder: {listing(found)}"
            )
    raise CorpusError(f"{path} has no member `{wanted}`. Members: {_members(names)}")


def _members(names: Sequence[str]) -> str:
    return listing(names) if names else "none (the archive is empty)"
