"""A request: length limits follow the source and leave room after a forced prefix; rows can be selected."""

import pytest

from translator.config import SearchConfig
from translator.errors import InputError
from translator.search.request import SearchRequest

ROWS = [[5, 6], [7, 8, 9], []]  # three, four and one tokens with EOS


@pytest.mark.parametrize(
    ("min_ratio", "max_ratio", "positions", "shortest", "longest"),
    [
        (0.2, 1.5, 15, [2, 2, 1], [14, 15, 11]),
        (1.5, 2.0, 100, [4, 6, 1], [16, 18, 12]),
        (1.5, 2.0, 3, [3, 3, 1], [3, 3, 3]),
    ],
)
def test_length_limits_are_ratios_of_the_source_length(
    min_ratio: float, max_ratio: float, positions: int, shortest: list[int], longest: list[int]
) -> None:
    request = SearchRequest(ROWS, SearchConfig(min_length_ratio=min_ratio, max_length_ratio=max_ratio))
    assert request.shortest_outputs(positions) == shortest
    assert request.longest_outputs(positions) == longest


def test_a_forced_prefix_leaves_room_for_ten_more_tokens() -> None:
    request = SearchRequest(ROWS, SearchConfig(max_length_ratio=1.5), prefixes=[[4] * 3, [4] * 9, []])
    assert request.longest_outputs(17) == [14, 17, 11]
    assert request.longest_outputs(100) == [14, 19, 11]


def test_rows_are_equal_only_with_the_same_prefix() -> None:
    rows = [[5], [6], [5], [6]]
    assert SearchRequest(rows, SearchConfig()).first_equals() == [0, 1, 0, 1]
    assert SearchRequest(rows, SearchConfig(), prefixes=[[], [7], [], [8]]).first_equals() == [0, 1, 0, 3]
    assert SearchRequest(rows, SearchConfig(method="sampling")).first_equals() == [0, 1, 2, 3], "draws differ"


def test_no_translation_of_a_sentence_is_no_request() -> None:
    with pytest.raises(InputError, match="cannot find 0 translations of a sentence; ask for 1 or more"):
        SearchRequest(ROWS, SearchConfig(method="sampling"), count=0)
