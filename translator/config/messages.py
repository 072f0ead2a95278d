"""What is wrong with a value, in words for the person who wrote it."""

import difflib
import math
from collections.abc import Mapping
from typing import Any

from translator.config.document import KeyPath
from translator.config.section import Section, section_in
from translator.config.sections import Config

_EXPECTED = {
    "string_type": "text",
    "int_type": "a valid integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "model_type": "a section of keys",
}
"""What pydantic wanted where it found a value of another type."""

_BOUNDS = {
    "greater_than_equal": ("ge", "of at least"),
    "greater_than": ("gt", "greater than"),
    "less_than_equal": ("le", "of at most"),
    "less_than": ("lt", "less than"),
}

_KINDS = {str: "text", bool: "truth value", int: "number", float: "number"}


def describe(detail: Mapping[str, Any]) -> str:
    """Return what is wrong and what would be right, for one of pydantic's findings."""
    kind, given, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in ("extra_forbidden", "invalid_key"):
        return "unknown key" + _nearest(detail["loc"])
    if kind == "missing":
        return "this key is required"
    if kind == "model_type" and given is None:
        return "this section is empty; give it keys or leave it out"
    if kind in _EXPECTED:
        hint = "; put it in quotes" if kind == "string_type" and not isinstance(given, list | dict | None) else ""
        return f"expected {_EXPECTED[kind]}, got {_with_kind(given)}{hint}"
    if kind in _BOUNDS:
        name, relation = _BOUNDS[kind]
        return f"expected a number {relation} {_show(context[name])}, got {_show(given)}"
    if kind == "literal_error":
        return f"{_with_kind(given)} is not one of {context['expected']}"
    if kind == "finite_number":
        return f"expected a finite number, got {_show(given)}"
    if kind == "mismatch":
        return f"expected {context['meaning']}, got {_show(given)}"
    if kind == "string_too_short":
        return "must not be empty"
    if kind == "string_too_long":
        return f"expected at most {context['max_length']} characters, got {len(given)}"
    if kind == "too_short":
        return "must not be empty: give the list at least one item"
    return f"{detail['msg']}, got {_with_kind(given)}"


def _show(value: Any) -> str:
    """Return a value as it is written in YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{value:+}".replace("+inf", ".inf").replace("-inf", "-.inf")
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    # Python writes no decimal number of more than 4300 digits; YAML takes one that is written in hexadecimal.
    huge = isinstance(value, int) and value.bit_length() > 10_000
    text = repr(value) if isinstance(value, str) else hex(value) if huge else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _with_kind(value: Any) -> str:
    """Return a value with its type, where the type is the point."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a section"
    text = repr(value) if type(value) is float and math.isfinite(value) else _show(value)
    return f"{text} ({_KINDS[type(value)]})" if type(value) in _KINDS else text


def _known_keys(section: type[Section], prefix: str = "") -> list[str]:
    """Return every key path of `section`, list items left out of the path."""
    paths = []
    for key, info in section.model_fields.items():
        paths.append(prefix + key)
        inner = section_in(info.annotation)
        if inner is not None:
            paths += _known_keys(inner, f"{prefix}{key}.")
    return paths


def _nearest(path: KeyPath) -> str:
    """Return a hint at the known key most like the unknown one: in its own section first, then anywhere."""
    keys = _known_keys(Config)
    last = str(path[-1])
    prefix = "".join(f"{part}." for part in path[:-1] if isinstance(part, str))
    siblings = [key[len(prefix) :] for key in keys if key.startswith(prefix) and "." not in key[len(prefix) :]]
    close = difflib.get_close_matches(last, siblings, n=1, cutoff=0.6)
    if close:
        return f"; did you mean `{close[0]}`?"
    elsewhere = [key for key in keys if key.rpartition(".")[2] == last]
    if not elsewhere:
        leaf = difflib.get_close_matches(last, [key.rpartition(".")[2] for key in keys], n=1, cutoff=0.8)
        elsewhere = [key for key in keys if leaf and key.rpartition(".")[2] == leaf[0]]
    if elsewhere:
        return f"; did you mean `{elsewhere[0]}`?"
    return f"; known here: {', '.join(siblings)}" if siblings else ""
