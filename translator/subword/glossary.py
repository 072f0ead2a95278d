"""A glossary: terms of the source, and the translations that they must have.

A term passes through the model as a placeholder, as what is copied does, and its translation comes back in its place.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from translator.errors import InputError
from translator.run.files import storage_errors


@dataclass(frozen=True)
class Glossary:
    """Terms and their translations. A term in small letters is found in any case, another one as it is written."""

    terms: Mapping[str, str]

    @classmethod
    def read(cls, file: Path) -> "Glossary":
        """Return the glossary in a TSV file: on each line a term, a tab, and its translation; blank lines are skipped.

        Raises InputError: the file is not UTF-8, or has no terms; or a line has another form, or two lines give one
            term two translations: the first 20 mistakes are named.
        """
        # 1. Read the lines.
        with storage_errors(file, "read"):
            content = file.read_bytes()
        try:
            lines = content.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise InputError(f"the glossary {file} is not UTF-8 (byte {error.start + 1})") from error

        # 2. Take a term from each. A term may stand twice, but with one translation.
        mistakes: list[str] = []
        terms: dict[str, str] = {}
        for number, line in enumerate(lines, start=1):
            cells = [" ".join(cell.split()) for cell in line.split("\t")]
            if not any(cells):
                continue
            if len(cells) != 2 or not all(cells):
                mistakes.append(f"line {number}: not a term, a tab and its translation")
                continue
            term, translation = cells
            if terms.setdefault(term, translation) != translation:
                mistakes.append(f"line {number}: `{term}` has another translation above, `{terms[term]}`")

        # 3. Name the mistakes together, the first 20 at most.
        if mistakes:
            shown = "\n".join(f"  {mistake}" for mistake in mistakes[:20])
            raise InputError(f"the glossary {file} has {len(mistakes)} mistakes:\n{shown}")
        if not terms:
            raise InputError(f"the glossary {file} has no terms")
        return cls(terms)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches a term between borders of words; where several begin, the longest."""
        alternatives = []
        for term in sorted(self.terms, key=len, reverse=True):
            words = r"\s+".join(map(re.escape, term.split()))
            alternatives.append(f"(?i:{words})" if term == term.lower() else words)
        return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)")

    def translation(self, part: str) -> str | None:
        """Return the translation of a part of a source; None if it is no term."""
        if not self.terms or self.pattern.fullmatch(part) is None:
            return None
        term = " ".join(part.split())
        return self.terms.get(term) or self.terms.get(term.lower())

    def translations_in(self, source: str) -> Counter[str]:
        """Return the translations that the terms in `source` must have, and how often."""
        translations = [self.translation(match[0]) for match in self.pattern.finditer(source)]
        return Counter(filter(None, translations))

    def kept(self, source: str, translation: str) -> tuple[int, int]:
        """Return how many terms of `source` have their translation in `translation`, and how many there are."""
        demanded = self.translations_in(source)
        preserved = sum(min(count, translation.count(term)) for term, count in demanded.items())
        return preserved, demanded.total()


NO_GLOSSARY = Glossary({})
