"""The run that the fence shares has learned its language, so that other files may say which translation is right."""

from pathlib import Path

from tests.fence.small_language import all_pairs
from tests.support.command_line import succeed


def test_the_small_run_translates_its_language(small_run: Path) -> None:
    pairs = all_pairs()
    sources = "".join(f"{english}\n" for english, _ in pairs)
    lines = succeed("translate", "--run", small_run, stdin=sources).lines
    right = sum(line == persian for line, (_, persian) in zip(lines, pairs, strict=True))
    assert right >= 0.97 * len(pairs)
