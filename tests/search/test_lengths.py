"""The shortest and the longest outputs."""

import pytest
import torch

from translator.errors import InputError
from translator.search import longest_outputs
from translator.search.lengths import room_for_prefixes, shortest_outputs
from translator.special_tokens import EOS, PAD

SOURCE = torch.tensor([[5, 6, EOS, PAD], [5, 6, 7, EOS], [PAD, PAD, PAD, PAD]])


def test_longest_outputs() -> None:
    assert longest_outputs(SOURCE, 1.5, 100).tolist() == [14, 16, 10]
    assert longest_outputs(SOURCE, 1.5, 15).tolist() == [14, 15, 10]
    assert longest_outputs(SOURCE, 2.0, 100).tolist() == [16, 18, 10]


def test_shortest_outputs_are_never_longer_than_the_longest() -> None:
    assert shortest_outputs(SOURCE, 1.5, torch.tensor([14, 16, 10])).tolist() == [4, 6, 0]
    assert shortest_outputs(SOURCE, 1.5, torch.tensor([3, 16, 10])).tolist() == [3, 6, 0]


def test_ten_tokens_may_follow_a_prefix() -> None:
    longest = torch.tensor([14, 16, 10])
    assert room_for_prefixes(longest, [[4] * 3, [4] * 9, []], 100).tolist() == [14, 19, 10]
    assert room_for_prefixes(longest, [[4] * 3, [4] * 9, []], 17).tolist() == [14, 17, 10]


def test_a_prefix_that_leaves_no_room_for_the_end_is_refused() -> None:
    assert room_for_prefixes(torch.tensor([10]), [[4] * 11], 12).tolist() == [12]
    with pytest.raises(InputError, match="prefix of sentence 2 has 12 tokens, but the model can take no more than 11"):
        room_for_prefixes(torch.tensor([10, 10]), [[], [4] * 12], 12)
