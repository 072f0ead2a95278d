"""Compiled steps of the normalizer."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from translator.corpus.normalizer.named_functions import EFFECTS, FUNCTIONS
from translator.corpus.normalizer.normalizer_rules import Change, Rewriting, Row, Step

_ONE_OF_A_CLASS: Final = re.compile(r"\[(?:[^\\\[\]^]|(?<!\[)\^)+\]")  # a pattern that is one class: [&@-]
_SPECIAL: Final = re.compile(r"\\(?!\d(?!\d)|g<)")  # in a template: an escape other than that of a group

_AFTER_SPACE: Final = re.compile(r"\(\?<!\\S\)-(?!-)")  # how a pattern begins that looks for a hyphen after a space


class CompiledRow(NamedTuple):
    """A row as `re.sub` takes it."""

    contains: str
    substitute: Callable[[str | Callable[[re.Match[str]], str], str], str]
    replacement: str | Callable[[re.Match[str]], str]
    adds: frozenset[str] | None  # characters that a replacement may add to a text; None: any


@dataclass(frozen=True)
class CompiledStep:
    """A step, and the texts that it leaves unchanged for certain."""

    change: Change
    needs: re.Pattern[str] | None = None  # matches one character; a text without any such character stays unchanged
    adds: str = ""  # characters that `change` may add to a text, if it has no rows
    only_if: re.Pattern[str] | None = None
    rows: tuple[CompiledRow, ...] = field(default=())


def compile_step(step: Step) -> CompiledStep:
    """Return a step in its fast form; raise re.error if a pattern or a template is invalid."""
    if isinstance(step, str):
        effect = EFFECTS.get(step)
        if effect is None:
            return CompiledStep(change=FUNCTIONS[step])
        return CompiledStep(change=FUNCTIONS[step], needs=re.compile(effect.needs), adds=effect.adds)
    only_if = None if step.only_if is None else re.compile(step.only_if)
    is_class = step.only_if is not None and _ONE_OF_A_CLASS.fullmatch(step.only_if)
    rows = tuple(map(_compile_row, step.rows))
    return CompiledStep(
        change=rewriter(only_if, rows),
        needs=only_if if is_class else None,
        only_if=only_if,
        rows=rows,
    )


def compile_rewriting(rewriting: Rewriting) -> Change:
    """Return the function that applies the rows to a text; raise re.error if a pattern or a template is invalid."""
    return compile_step(rewriting).change


def rewriter(only_if: re.Pattern[str] | None, rows: Sequence[CompiledRow]) -> Change:
    """Return the function that applies `rows` to a text, if `only_if` has a match in it."""

    def rewrite(text: str) -> str:
        for part, substitute, replacement, _ in rows:
            if part in text:
                text = substitute(replacement, text)
        return text

    if only_if is None:
        return rewrite
    has_match = only_if.search
    return lambda text: text if has_match(text) is None else rewrite(text)


def _compile_row(row: Row) -> CompiledRow:
    template = row.replacement
    adds: frozenset[str] | None
    if isinstance(template, dict):
        adds = frozenset("".join(template.values()))
    else:
        adds = None if _SPECIAL.search(template) else frozenset(template)
    return CompiledRow(
        contains=row.contains,
        substitute=re.compile(_hyphen_first(row.pattern)).sub,
        replacement=_replacement(row),
        adds=adds,
    )


def _hyphen_first(pattern: str) -> str:
    r"""Return a pattern that matches the same, but begins with its hyphen: `(?<!\S)-x` becomes `-(?<!\S-)x`.

    Python looks for a hyphen many times faster than it tries an assertion at every character.
    """
    beginning = _AFTER_SPACE.match(pattern)
    if beginning is None or "|" in pattern:
        return pattern
    return r"-(?<!\S-)" + pattern[beginning.end() :]


def _replacement(row: Row) -> str | Callable[[re.Match[str]], str]:
    """Return the replacement of a row as `re.sub` takes it."""
    template = row.replacement
    if isinstance(template, str):
        if row.unless is None:
            return template
        exception = re.compile(row.unless)
        return lambda match: match[0] if exception.search(match[0]) else match.expand(template)
    table = str.maketrans(template)
    if row.unless is None:
        return lambda match: match[0].translate(table)
    exception = re.compile(row.unless)
    return lambda match: match[0] if exception.search(match[0]) else match[0].translate(table)
