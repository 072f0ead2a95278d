"""The run that the fence shares has learned its language, so that other files may say which translation is right."""

from pathlib import Path

from tests.fence.small_language import all_pairs
from tests.support.command_line import translator


def test_the_small_run_translates_its_language(small_run: Path) -> None:
    pairs = all_pairs()
    sources = "".join(f"{english}\n" for english, _ in pairs)
    result = translator("translate", "--run", small_run, stdin=sources)
    assert result.code == 0, result.err
    right = sum(line == persian for line, (_, persian) in zip(result.lines, pairs, strict=True))
    assert right >= 0.97 * len(pairs)
