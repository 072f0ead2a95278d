"""The page that lists every key of a recipe: what it means, what it may be, and what a change of it does to a run."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from translator.config import Config
from translator.config.keys import Effect, Section, section_in
from translator.config.resuming import EFFECTS

PAGE: Final = "config-reference.md"
_WITHOUT_LIMIT: Final = 2**31 - 1
"""The largest number of a key that has no limit of its own."""
_EFFECTS: Final = {
    Effect.FREE: "always taken",
    Effect.RESULT: "taken only with `--allow-changed`",
    Effect.REFUSED: "never taken",
}
_INTRODUCTION: Final = """# Every key of a recipe

This page is made from the program when the site is built, so it cannot be out of date. A recipe is a YAML file with
these sections; every key but those marked *required* may be left out. On the command line, `--set SECTION.KEY=VALUE`
overrides one key, items of a list by their number from 0: `--set corpus.sources.0.path=data/mizan.zip`. `make` takes
the same as `SET="..."`.

*In a run that goes on* says what happens when the key has another value than when the run was last started
([Training](training.md#changing-settings)).
"""


def config_page() -> str:
    """Return the page in Markdown: a heading for each section, and under it one for each key."""
    return "\n".join([_INTRODUCTION, *_section_lines(Config, "")])


def _section_lines(section: type[Section], path: str, facts: str = "") -> Iterator[str]:
    """Yield the keys of `section`, whose dotted path is `path`, and then the sections inside it."""
    inner: list[Iterator[str]] = []
    keys = section.model_json_schema()["properties"]
    if path:
        yield f"\n## {path} {{ #{path} }}\n\n{_paragraph(section.__doc__)}\n{facts}"
    for key, field in section.model_fields.items():
        below = f"{path}.{key}" if path else key
        facts = _facts(below, keys[key], field.is_required()) if below in EFFECTS else ""
        nested = section_in(field.annotation)
        if nested is not None:
            inner.append(_section_lines(nested, below, facts))
        else:
            yield f"\n### `{key}` {{ #{below} data-toc-label='{key}' }}\n\n{_paragraph(field.description)}\n{facts}"
    sentences = [method.__dict__["sentence"] for method in section.constraints()]
    if sentences:
        yield "\nWhat keys must keep together:\n" if path else "\n## Keys of several sections { #several-sections }\n"
        for sentence in sentences:
            yield f"- {sentence}."
    for lines in inner:
        yield from lines


def _facts(path: str, schema: Mapping[str, Any], required: bool) -> str:
    """Return the line under a key: its values, its default, and what becomes of a run when it changes."""
    default = "*required*" if required else f"default {_shown(schema['default'])}"
    line = f"{_allowed(schema)} · {default} · in a run that goes on: {_EFFECTS[EFFECTS[path]]}"
    return f"\n{line}\n{{ .facts }}\n"


def _allowed(schema: Mapping[str, Any]) -> str:
    """Return in words what a value may be."""
    if "anyOf" in schema:
        return " or ".join(_allowed(choice) for choice in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return ", ".join(_shown(value) for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "object")
    if kind == "array":
        return f"a list of {_allowed(schema['items'])}"
    if kind in ("integer", "number"):
        return {"integer": "a whole number", "number": "a number"}[kind] + _limits(schema)
    return {"string": "text", "boolean": "`true`, `false`", "null": "`null`", "object": "sections"}[kind]


def _limits(schema: Mapping[str, Any]) -> str:
    words = {
        "minimum": "from {}",
        "exclusiveMinimum": "above {}",
        "maximum": "up to {}",
        "exclusiveMaximum": "below {}",
    }
    limits = {key: schema[key] for key in words if key in schema}
    if limits.get("maximum") == _WITHOUT_LIMIT:
        del limits["maximum"]
    said = ", ".join(words[key].format(f"{value:,}") for key, value in limits.items())
    return f", {said}" if said else ""


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"`{text}`"


def _paragraph(text: str | None) -> str:
    return " ".join((text or "").split())
