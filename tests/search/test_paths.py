"""Sentences leave the batch of a search when their results are final."""

import pytest
import torch

from tests.support.known_model import KnownModel, sources
from tests.support.search_settings import beam
from translator.search.beam import beam_search
from translator.search.greedy import greedy_search
from translator.special_tokens import EOS

LONGEST = torch.tensor([4, 9, 6])


class EarlyEnd(KnownModel):
    """The sentence 10 ends from its second token on, the others go on for ever."""

    def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
        likely = EOS if name == 10 and len(prefix) >= 2 else 4
        return super().logits(name, prefix).index_fill(0, torch.tensor(likely), 30.0)


@pytest.mark.parametrize(("width", "row_counts"), [(1, [2, 1]), (2, [6, 6, 4, 2, 2])])
def test_sentences_with_a_final_result_leave_the_batch(width: int, row_counts: list[int]) -> None:
    model = EarlyEnd(0)
    search = greedy_search if width == 1 else beam_search
    search(model, sources(11, 10, 12), LONGEST, beam(width))
    assert model.state is not None
    assert model.state.row_counts == row_counts
    assert model.steps == 6, "no step follows the end of the last sentence"


@pytest.mark.parametrize("width", [1, 2])
def test_a_sentence_that_leaves_early_keeps_its_result(width: int) -> None:
    search = greedy_search if width == 1 else beam_search
    _, hypotheses, _ = search(EarlyEnd(0), sources(11, 10, 12), LONGEST, beam(width))
    assert hypotheses[0].tokens == (4,)
    assert hypotheses[0].finished
