"""Describe the mistakes of a recipe: each with its place, its key, what is wrong, and the nearest known key."""

import difflib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from translator.config.document import Document, KeyPath, dotted
from translator.config.keys import Section, section_in, show_value
from translator.config.sections import REMOVED_KEYS, Config

UNKNOWN_KEY: Final = ("extra_forbidden", "unexpected_keyword_argument")
"""Names that pydantic gives to an unknown key: of a model, and of a dataclass."""
_EXPECTED: Final = {
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "a section of keys",
    "too_short": "a list with at least one item",
}
"""The expected value in YAML terms, by pydantic error type."""
_CHOICE: Final = re.compile(r"literal\[.*\]|constrained-(int|float)|int|float")
"""Names that pydantic gives to the members of a union."""


def explain(details: Sequence[Mapping[str, Any]], document: Document) -> list[str]:
    """Return one line for each key with mistakes: its place in `document`, its path, and all that is wrong with it.

    Args:
        details: the errors that pydantic found.
        document: the values, and the place of each.
    """
    # pydantic drops invalid items and may then call the list too short: report only the mistakes inside it.
    holders: set[KeyPath] = set()
    for detail in details:
        path: KeyPath = detail["loc"]
        holders.update(path[:end] for end in range(len(path)))

    # 1. The reasons by key; a union gives one for each of its members.
    reasons: dict[KeyPath, list[str]] = {}
    for detail in details:
        path = detail["loc"]
        if detail["type"] == "rules":
            for mistake in detail["ctx"]["mistakes"]:
                conflicting = [(*path, *_key_path(key)) for key in mistake.keys]
                reasons.setdefault(document.to_blame(conflicting), []).append(mistake.reason)
        elif detail["type"] == "extra_forbidden" and path not in holders:
            reasons.setdefault(path, []).append(_describe_unknown(path))
        elif path not in holders:
            reasons.setdefault(_without_choice(path), []).append(_describe(detail))

    # 2. A line for each key.
    lines = []
    for path, descriptions in reasons.items():
        key = f"{dotted(path)}: " if path else ""
        lines.append(f"{document.place(path)}: {key}{'; or: '.join(descriptions)}")
    return lines


def _key_path(key: str) -> KeyPath:
    """Return the path of a dotted key; its numbers are list indices."""
    return tuple(int(part) if part.isdecimal() else part for part in key.split("."))


def _without_choice(path: KeyPath) -> KeyPath:
    """Return `path` without the name of the member, which pydantic appends for a union."""
    if path and isinstance(path[-1], str) and _CHOICE.fullmatch(path[-1]):
        return path[:-1]
    return path


def _describe(detail: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, in words of YAML."""
    kind, value = detail["type"], detail["input"]
    if kind == "missing":
        return "this key is required"
    if kind == "model_type" and value is None:
        return "this section is empty; give it keys or leave it out"

    # What pydantic expects, without its "Input should be".
    expected = _EXPECTED.get(kind) or re.sub(r"^(Input|String) should (be|have) ", "", detail["msg"])
    expected = re.sub(r"^(greater|less) ", r"a number \1 ", expected)

    if isinstance(value, list):
        return f"expected {expected}, got a list"
    if isinstance(value, dict):
        return f"expected {expected}, got a section"
    # YAML reads `name: 5` as a number and `name: no` as false.
    hint = "; put it in quotes" if kind == "string_type" and value is not None else ""
    return f"expected {expected}, got {show_value(value)}{hint}"


def _describe_unknown(path: KeyPath) -> str:
    """Return what is wrong with a key that no section has."""
    removed = REMOVED_KEYS.get(dotted(path))
    if removed is not None:
        return removed
    # Keys of a section have no list indices.
    names = [part for part in path[:-1] if isinstance(part, str)]
    prefix = "".join(f"{name}." for name in names)
    return "unknown key" + _nearest(prefix, str(path[-1]))


def may_be_newer(details: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the mistakes that pydantic found look like keys or choices that a newer version has added.

    Where a required key is missing, another kind of file is more likely.
    """
    if any(detail["type"] == "missing" for detail in details):
        return False
    for detail in details:
        unknown_choice = detail["type"] == "literal_error" and isinstance(detail["input"], str)
        if unknown_choice or detail["type"] in UNKNOWN_KEY:
            return True
    return False


def _all_keys(section: type[Section], prefix: str = "") -> Iterator[str]:
    """Yield the path of each key of `section` and of the sections inside it."""
    for key, field in section.model_fields.items():
        yield prefix + key
        inner = section_in(field.annotation)
        if inner is not None:
            yield from _all_keys(inner, f"{prefix}{key}.")


@functools.lru_cache(maxsize=1000)  # an unknown key may be in each item of a long list
def _nearest(prefix: str, unknown: str) -> str:
    """Return a hint that names the most similar key: in the section `prefix` first, then anywhere."""
    siblings = []
    paths_by_name: dict[str, str] = {}
    for path in _all_keys(Config):
        name = path.rpartition(".")[2]
        paths_by_name.setdefault(name, path)  # of equal names, the first
        if path == prefix + name:
            siblings.append(name)

    # A key of the same section is likelier, so it need not be as similar as one elsewhere.
    close = difflib.get_close_matches(unknown, siblings, n=1, cutoff=0.6)
    if close:
        return f"; did you mean `{close[0]}`?"
    close = difflib.get_close_matches(unknown, list(paths_by_name), n=1, cutoff=0.8)
    if close:
        return f"; did you mean `{paths_by_name[close[0]]}`?"
    return f"; keys of this section: {', '.join(siblings)}"
