"""Running the examples that stand in Markdown pages and in docstrings."""

import doctest
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+")


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Return the fenced blocks of `language` in a page, each with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    fenced = re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, block.start(1)) + 1, block.group(1)) for block in fenced]


class CloseNumbers(doctest.OutputChecker):
    """Lets the last digit of a printed fraction be off by one: processors round otherwise."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Say whether `got` is what was wanted."""
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = _NUMBER.findall(want), _NUMBER.findall(got)
        alike: bool = super().check_output(_NUMBER.sub("0.0", want), _NUMBER.sub("0.0", got), optionflags)
        return alike and len(wanted) == len(found) and all(map(_close, wanted, found))


def _close(wanted: str, found: str) -> bool:
    digits = len(wanted.partition(".")[2])
    return abs(float(wanted) - float(found)) <= 1.5 * 10.0**-digits


def run_examples(text: str, name: str, line: int, values: dict[str, Any]) -> list[str]:
    """Run the examples in `text`, which share `values`, and return what was wrong."""
    test = doctest.DocTestParser().get_doctest(text, values, name, name, line - 1)
    test.globs = values  # not a copy: the next block goes on with what this one has left
    said: list[str] = []
    runner = doctest.DocTestRunner(CloseNumbers(), verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=said.append, clear_globs=False)
    return said
