"""Reference system R4: the specification of a decoder, one test for a line of its checklist and for each gotcha.

The other lines are tested in the core, most by a comparison with torch: sublayers and cross-attention in
`core/test_transformer.py`, the loss that ignores padding in `core/test_loss.py`, targets that are shifted right in
`core/test_batch.py`, and translation token by token in `core/test_cache.py` and `core/test_search.py`.
"""

import pytest
import torch
from torch import Tensor

from tests.support.small_model import small_batch, small_model
from translator.config import ModelConfig
from translator.core.masks import Masks, one_sentence_a_row
from translator.core.transformer import Transformer


def masks_of(model: Transformer, source: Tensor, target_input: Tensor) -> Masks:
    return model.masks(one_sentence_a_row(source), one_sentence_a_row(target_input))


def positions(tokens: Tensor) -> Tensor:
    return torch.arange(tokens.size(1)).expand_as(tokens)


def test_training_is_teacher_forced() -> None:
    """One pass gives the same logits as predicting each next token from its true prefix."""
    model = small_model().eval()
    source, target_input, _ = small_batch()
    logits = model(source, target_input)
    for t in range(1, 6):
        logits_of_prefix = model(source[:1], target_input[:1, :t])
        torch.testing.assert_close(logits_of_prefix[0, -1], logits[0, t - 1])


def test_the_feed_forward_width_is_a_setting_by_default_four_times_the_model_width() -> None:
    defaults = ModelConfig()
    assert defaults.feed_forward == 4 * defaults.d_model
    layer = small_model(feed_forward=48).decoder.layers[0]
    assert layer.feed_forward.inner.weight.shape == (48, 32)


NO_DROPOUT = {"attention_dropout": 0.0, "feed_forward_dropout": 0.0, "dropout": 0.0}


@pytest.mark.parametrize("kind", [*NO_DROPOUT, None])
def test_gotcha_each_dropout_rate_and_nothing_else_is_random_in_training_only(kind: str | None) -> None:
    source, target_input, _ = small_batch()
    rates = NO_DROPOUT | ({kind: 0.3} if kind else {})
    model = small_model(**rates).train()
    is_random = not torch.equal(model(source, target_input), model(source, target_input))
    assert is_random == (kind is not None)
    model.eval()
    assert torch.equal(model(source, target_input), model(source, target_input))


def states_with_last_token(token: int, *, masked: bool) -> Tensor:
    """The states at positions 0 to 3 of a target that has `token` at position 4."""
    model = small_model().eval()
    source, target_input, _ = small_batch()
    target_input[0, 4] = token
    masks = masks_of(model, source, target_input)
    memory = model.encode(source, positions(source), masks.encoder)
    if not masked:
        masks = masks._replace(decoder=torch.ones_like(masks.decoder))
    return model.decode(target_input, positions(target_input), memory, masks)[0, :4]


@pytest.mark.parametrize("masked", [True, False])
def test_gotcha_the_mask_and_nothing_else_hides_later_tokens(masked: bool) -> None:
    states = states_with_last_token(26, masked=masked)
    assert torch.allclose(states, states_with_last_token(23, masked=masked), atol=1e-6) == masked


def test_gotcha_logits_do_not_depend_on_their_own_label() -> None:
    """Position t does not know label t, which is token t + 1 of the input: it changes only what comes later."""
    source, target_input, _ = small_batch()
    model = small_model(dropout=0.0)
    expected = model(source, target_input)[0, :3]
    target_input[0, 3] = 26  # label 2
    assert torch.equal(model(source, target_input)[0, :3], expected)


@pytest.mark.parametrize("tied", ["none", "target"])
def test_gotcha_embedding_and_head_have_the_same_vocabulary(tied: str) -> None:
    model = small_model(tied_embeddings=tied)
    assert model.head_weight.shape == model.target_embedding.tokens.weight.shape == (27, 32)
    assert model.source_embedding.tokens.weight.shape == (21, 32)
