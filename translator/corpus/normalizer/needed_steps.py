"""The steps of the normalizer that can change a text, chosen by its characters.

Most lines of a corpus have few characters besides letters, digits, spaces and full stops, and nearly every step looks
for others. So most steps can be left out, without a search for each of them.
"""

import functools
from collections.abc import Sequence
from typing import Final

from translator.corpus.normalizer.characters import CharacterTable
from translator.corpus.normalizer.normalizer_rules import Change
from translator.corpus.normalizer.rewriting import CompiledRow, CompiledStep, rewriter

_REMEMBERED_CHOICES: Final = 4096


class NeededSteps:
    """Chooses among steps by the codes that a text has on the page of a table.

    Characters that the same steps and rows look for form a group; plain characters are in none. The choice depends on
    the groups that a text has characters of. Few sets of groups occur, so the choice for each is remembered.
    """

    def __init__(self, steps: Sequence[CompiledStep], table: CharacterTable) -> None:
        """Take the steps in their order, and the table on whose page the texts are."""
        self._steps = steps
        self._changes = functools.lru_cache(_REMEMBERED_CHOICES)(self._changes_for)
        members: dict[tuple[int, ...], set[str]] = {}
        self._plain_characters: set[str] = set()
        for character in table.page:
            seekers = self._seekers(character)
            if seekers:
                members.setdefault(seekers, set()).add(character)
            else:
                self._plain_characters.add(character)
        self._groups = list(members.values())

        # For `bytes.translate`: the number of its group by the code of a character, and the codes without a group.
        numbers = bytearray(256)
        for number, characters in enumerate(self._groups):
            for code in table.codes(characters):
                numbers[code] = number
        self._numbers = bytes(numbers)
        self._plain_codes = table.codes(self._plain_characters)

    def of(self, codes: bytes) -> tuple[Change, ...]:
        """Return functions that do to the text with these codes what all steps do."""
        return self._changes(frozenset(codes.translate(self._numbers, self._plain_codes)))

    def _seekers(self, character: str) -> tuple[int, ...]:
        """Return the numbers of the steps and rows that look for `character`."""
        # Nearly every text has these. To count them as present in all texts keeps the groups few, and is never wrong.
        is_common = character.isalnum() or character in " ."
        seekers: list[int] = []
        number = 0
        for step in self._steps:
            number += 1
            if step.needs is not None and step.needs.match(character):
                seekers.append(number)
            for row in step.rows:
                number += 1
                if character in row.contains and not is_common:
                    seekers.append(number)
        return tuple(seekers)

    def _changes_for(self, groups: frozenset[int]) -> tuple[Change, ...]:
        """Return the functions for texts of plain characters and characters of these groups."""
        present = set(self._plain_characters)
        for number in groups:
            present |= self._groups[number]
        changes: list[Change] = []
        for step in self._steps:
            if step.needs is not None and not any(map(step.needs.match, present)):
                continue
            if not step.rows:
                changes.append(step.change)
                present.update(step.adds)
                continue
            # A row can change a text only if the text has all of `contains`. What earlier rows add counts as well.
            rows: list[CompiledRow] = []
            for row in step.rows:
                if present.issuperset(row.contains):
                    if row.adds is None:
                        return tuple(step.change for step in self._steps)
                    rows.append(row)
                    present |= row.adds
            if rows:
                changes.append(rewriter(step.only_if, rows))
        return tuple(changes)
