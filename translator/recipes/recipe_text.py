"""The text of a recipe: commented YAML, made from that of a shipped recipe."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, NamedTuple

import yaml

_INDENT: Final = "  "
_KEY_LINE: Final = re.compile(r"(?P<indent> *)(?P<key>\w+):(?: |$)")


class Choice(NamedTuple):
    """A chosen setting, with the reason."""

    key: str  # like `training.max_steps`
    value: int | float | bool | str
    why: str


def yaml_value(value: Any) -> str:
    """Return a value as YAML on one line."""
    return json.dumps(value, ensure_ascii=False)


def recipe_text(
    base: str, title: str, corpus: Mapping[str, Any], choices: Sequence[Choice], removed_keys: Container[str] = ()
) -> str:
    """Return the YAML of a recipe with other settings; its other lines keep their comments.

    Args:
        base: the text of the recipe, which begins with comments and the section `run`.
        title: comments in place of these.
        corpus: the section `corpus`, in place of the whole section.
        choices: values for keys that `base` sets; each gets its reason as a comment.
        removed_keys: key paths whose lines are left out.
    """
    choice_of_key = {choice.key: choice for choice in choices}
    lines: list[str] = []
    path: list[str] = []  # of the key of the present line
    for line in base[base.index("\nrun:") :].splitlines():
        key_line = _KEY_LINE.match(line)
        if key_line is not None:
            depth = len(key_line["indent"]) // len(_INDENT)
            path = [*path[:depth], key_line["key"]]
        elif not line and path[:1] == ["corpus"]:  # what follows is a comment on the next section
            path = []
        key_path = ".".join(path)
        choice = choice_of_key.get(key_path)
        if key_path == "corpus":
            section = {"corpus": dict(corpus)}
            lines += yaml.safe_dump(section, allow_unicode=True, sort_keys=False, width=1000).splitlines()
        elif path[:1] == ["corpus"] or key_path in removed_keys:
            continue
        elif choice is not None:
            lines.append(f"{_INDENT * (len(path) - 1)}{path[-1]}: {yaml_value(choice.value):<15} # {choice.why}")
        else:
            lines.append(line)
    return title + "\n".join(lines) + "\n"
