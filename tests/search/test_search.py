"""Search with the real model, and the choice of algorithm and length."""

import pytest
import torch
from known_model import KnownModel, sources
from torch import Tensor

from translator.config import ModelConfig, SearchConfig
from translator.model import Transformer
from translator.search import Hypothesis, beam_search, greedy_search, longest_outputs, search
from translator.special_tokens import EOS, PAD, SOS, UNK

VOCABULARY = 24


@pytest.fixture(scope="module")
def model() -> Transformer:
    """Random weights, strong enough that sentences differ, with EOS made likelier so that rows end here and there."""
    torch.manual_seed(5)
    config = ModelConfig(
        d_model=32,
        heads=4,
        encoder_layers=2,
        decoder_layers=2,
        feed_forward=64,
        tied_embeddings="none",
        max_positions=48,
    )
    model = Transformer(config, VOCABULARY, VOCABULARY)
    assert model.own_head is not None
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.25 * torch.randn_like(weight))
        model.own_head.weight[EOS] += 0.3 * model.own_head.weight[5:].mean(0) + 0.2
    return model.eval()


def source_batch(rows: int = 12) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    source = torch.randint(4, VOCABULARY, (rows, 11), generator=generator)
    for row in range(rows):
        length = 3 + row % 8
        source[row, length] = EOS
        source[row, length + 1 :] = PAD
    return source


METHODS = [
    SearchConfig(method="greedy"),
    SearchConfig(beam_size=1),
    SearchConfig(beam_size=4, length_penalty=0.0),
    SearchConfig(beam_size=5, length_penalty=1.0),
]


def teacher_forced(model: Transformer, source: Tensor, hypothesis: Hypothesis) -> float:
    """The score that the whole model gives a hypothesis, without any cache."""
    labels = torch.tensor([*hypothesis.tokens, *([EOS] if hypothesis.finished else [])])
    target_input = torch.cat((torch.tensor([SOS]), labels[:-1])).unsqueeze(0)
    log_probabilities = model(source[source != PAD].unsqueeze(0), target_input)[0].log_softmax(-1)
    return float(log_probabilities.gather(1, labels.unsqueeze(1)).sum())


@pytest.mark.parametrize("config", METHODS, ids=str)
@torch.no_grad()
def test_scores_are_those_of_teacher_forcing(model: Transformer, config: SearchConfig) -> None:
    source = source_batch()
    found = search(model, source, config)
    assert len({hypothesis.tokens for hypothesis in found}) > 6
    for row, hypothesis in zip(source, found, strict=True):
        assert hypothesis.score == pytest.approx(teacher_forced(model, row, hypothesis), abs=1e-3)
        assert not {PAD, UNK, SOS, EOS} & set(hypothesis.tokens)


@pytest.mark.parametrize("config", METHODS, ids=str)
def test_a_row_does_not_depend_on_its_batch_mates(model: Transformer, config: SearchConfig) -> None:
    source = source_batch()
    together = search(model, source, config)
    for row, expected in zip(source, together, strict=True):
        (alone,) = search(model, row[row != PAD].unsqueeze(0), config)
        assert alone.tokens == expected.tokens
        assert alone.score == pytest.approx(expected.score, abs=1e-3)
    backwards = search(model, source.flip(0), config)
    assert [h.tokens for h in reversed(backwards)] == [h.tokens for h in together]


@torch.no_grad()
def test_the_cache_changes_nothing(model: Transformer) -> None:
    class Prefixes:
        def __init__(self, source: Tensor) -> None:
            self.source, self.target = source, source.new_empty(len(source), 0)

        def select(self, rows: Tensor) -> None:
            self.source, self.target = self.source[rows], self.target[rows]

    class Uncached:
        """The same model, run again over the whole prefix at each step."""

        max_positions = model.max_positions

        def start(self, source: Tensor, width: int = 1) -> Prefixes:
            return Prefixes(source.repeat_interleave(width, 0))

        def step(self, tokens: Tensor, cache: Prefixes) -> Tensor:
            cache.target = torch.cat((cache.target, tokens.unsqueeze(1)), 1)
            logits: Tensor = model(cache.source, cache.target)
            return logits[:, -1]

    source = source_batch()
    for config in METHODS:
        cached, uncached = search(model, source, config), search(Uncached(), source, config)
        assert [h.tokens for h in cached] == [h.tokens for h in uncached]
        for ours, theirs in zip(cached, uncached, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-3)


def test_some_rows_end_and_some_reach_their_limit(model: Transformer) -> None:
    """The tests above say little unless both happen."""
    found = search(model, source_batch(), METHODS[0])
    assert {hypothesis.finished for hypothesis in found} == {True, False}


def test_longest_outputs() -> None:
    source = torch.tensor([[5, 6, EOS, PAD], [5, 6, 7, EOS], [PAD, PAD, PAD, PAD]])
    assert longest_outputs(source, 1.5, 100).tolist() == [14, 16, 10]
    assert longest_outputs(source, 1.5, 15).tolist() == [14, 15, 10]
    assert longest_outputs(source, 2.0, 100).tolist() == [16, 18, 10]


def test_the_limit_holds_and_the_model_is_never_asked_beyond_its_positions(model: Transformer) -> None:
    source = source_batch()
    for config in METHODS:
        wide = config.model_copy(update={"max_length_ratio": 100.0})
        assert all(len(hypothesis.tokens) <= 48 for hypothesis in search(model, source, wide))
        assert any(len(hypothesis.tokens) == 48 for hypothesis in search(model, source, wide)) or config.beam_size > 1
        narrow = config.model_copy(update={"max_length_ratio": 0.01})
        assert all(len(hypothesis.tokens) <= 10 for hypothesis in search(model, source, narrow))


def test_the_configuration_chooses_algorithm_width_and_penalty() -> None:
    source = sources(10, 11, 12)
    lengths = longest_outputs(source, 2.0, 50)
    greedy = search(KnownModel(4), source, SearchConfig(method="greedy", length_penalty=0.3))
    assert greedy == greedy_search(KnownModel(4), source, lengths, 0.3)
    beam = search(KnownModel(4), source, SearchConfig(beam_size=3, length_penalty=0.3))
    assert beam == [hypotheses[0] for hypotheses in beam_search(KnownModel(4), source, lengths, 3, 0.3)]
    assert [h.tokens for h in beam] != [h.tokens for h in greedy]


def test_under_autocast_scores_are_still_float32(model: Transformer) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = search(model, source_batch(), METHODS[3])
    exact = search(model, source_batch(), METHODS[3])
    for ours, theirs in zip(found, exact, strict=True):
        assert ours.normalized_score == pytest.approx(theirs.normalized_score, rel=0.1)
