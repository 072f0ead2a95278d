"""Length limits follow the source, and leave room after a forced prefix."""

import pytest

from translator.config import SearchConfig
from translator.search.output_lengths import output_limits

SOURCE_LENGTHS = [3, 4, 0]


@pytest.mark.parametrize(
    ("min_ratio", "max_ratio", "positions", "shortest", "longest"),
    [
        (0.0, 1.5, 15, [], [14, 15, 10]),
        (1.5, 2.0, 100, [4, 6, 0], [16, 18, 10]),
        (1.5, 2.0, 3, [3, 3, 0], [3, 3, 3]),
    ],
)
def test_length_limits_are_ratios_of_the_source_length(
    min_ratio: float, max_ratio: float, positions: int, shortest: list[int], longest: list[int]
) -> None:
    config = SearchConfig(min_length_ratio=min_ratio, max_length_ratio=max_ratio)
    limits = output_limits(SOURCE_LENGTHS, config, positions)
    assert (limits.shortest, limits.longest) == (shortest, longest)


@pytest.mark.parametrize(("positions", "longest"), [(100, [14, 19, 10]), (17, [14, 17, 10])])
def test_a_forced_prefix_leaves_room_for_ten_more_tokens(positions: int, longest: list[int]) -> None:
    config = SearchConfig(min_length_ratio=0.0, max_length_ratio=1.5)
    prefixes = [[4] * 3, [4] * 9, []]
    assert output_limits(SOURCE_LENGTHS, config, positions, prefixes).longest == longest
