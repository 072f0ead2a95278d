"""Search with the real model."""

import pytest
import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.model import Transformer
from translator.search import Ensemble, Hypothesis, score_targets, search
from translator.special_tokens import EOS, PAD, SOS, UNK

VOCABULARY = 24


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
    SearchConfig(beam_size=4, length_penalty=0.0),
    SearchConfig(beam_size=5, length_penalty=1.0),
    SearchConfig(beam_size=3, length_normalization="average", min_length_ratio=0.8, no_repeat_ngram=2),
    SearchConfig(method="sampling", temperature=1.2, top_k=12, top_p=0.95),
]


def count_of(config: SearchConfig) -> int:
    """As many hypotheses as the method gives, three at most."""
    return {"greedy": 1, "beam": min(3, config.beam_size), "sampling": 3}[config.method]


def teacher_forced(model: Transformer, source: Tensor, hypothesis: Hypothesis) -> list[float]:
    """The log-probabilities that the whole model gives a hypothesis, without any cache."""
    labels = torch.tensor([*hypothesis.tokens, *([EOS] if hypothesis.finished else [])])
    target_input = torch.cat((torch.tensor([SOS]), labels[:-1])).unsqueeze(0)
    log_probabilities = model(source[source != PAD].unsqueeze(0), target_input)[0].log_softmax(-1)
    return log_probabilities.gather(1, labels.unsqueeze(1)).squeeze(1).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("config", METHODS, ids=str)
@torch.no_grad()
def test_scores_are_those_of_teacher_forcing(model: Transformer, config: SearchConfig) -> None:
    source = source_batch()
    found = search(model, source, config, count=count_of(config))
    assert len({hypotheses[0].tokens for hypotheses in found}) > 6
    for row, hypotheses in zip(source, found, strict=True):
        scored = score_targets(
            model,
            row.expand(len(hypotheses), -1),
            [hypothesis.tokens for hypothesis in hypotheses],
            finished=[hypothesis.finished for hypothesis in hypotheses],
        )
        for hypothesis, ours in zip(hypotheses, scored, strict=True):
            expected = teacher_forced(model, row, hypothesis)
            assert hypothesis.score == pytest.approx(sum(expected), abs=1e-5)
            assert hypothesis.token_scores == pytest.approx(expected, abs=1e-5)
            assert ours.token_scores == pytest.approx(expected, abs=1e-5)
            assert not {PAD, UNK, SOS, EOS} & set(hypothesis.tokens)


@pytest.mark.parametrize("config", METHODS, ids=str)
def test_a_row_does_not_depend_on_its_batch_mates(model: Transformer, config: SearchConfig) -> None:
    source, count = source_batch(), count_of(config)
    together = search(model, source, config, count=count)
    for row, expected in zip(source, together, strict=True):
        (alone,) = search(model, row[row != PAD].unsqueeze(0), config, count=count)
        assert [h.tokens for h in alone] == [h.tokens for h in expected]
        assert [h.score for h in alone] == pytest.approx([h.score for h in expected], abs=1e-5)
    backwards = search(model, source.flip(0), config, count=count)
    assert [[h.tokens for h in hypotheses] for hypotheses in reversed(backwards)] == [
        [h.tokens for h in hypotheses] for hypotheses in together
    ]


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
        for (ours,), (theirs,) in zip(cached, uncached, strict=True):
            assert ours.tokens == theirs.tokens
            assert ours.token_scores == pytest.approx(theirs.token_scores, abs=1e-5)


@pytest.mark.parametrize("config", METHODS, ids=str)
def test_an_ensemble_of_a_model_with_itself_is_the_model(model: Transformer, config: SearchConfig) -> None:
    source = source_batch()
    together, alone = search(Ensemble([model, model]), source, config), search(model, source, config)
    for (ours,), (theirs,) in zip(together, alone, strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.token_scores == pytest.approx(theirs.token_scores, abs=1e-5)


@pytest.mark.parametrize("config", METHODS, ids=str)
@torch.no_grad()
def test_a_hypothesis_goes_on_from_its_forced_prefix(model: Transformer, config: SearchConfig) -> None:
    source = source_batch(4)
    prefixes = [[UNK, 9, 9, 9], [], [7], [6, 8] * 8]
    found = search(model, source, config, count=count_of(config), prefixes=prefixes)
    for row, prefix, hypotheses in zip(source, prefixes, found, strict=True):
        for hypothesis in hypotheses:
            assert list(hypothesis.tokens[: len(prefix)]) == prefix
            assert UNK not in hypothesis.tokens[len(prefix) :]
            assert hypothesis.token_scores == pytest.approx(teacher_forced(model, row, hypothesis), abs=1e-5)


def test_some_rows_end_and_some_reach_their_limit(model: Transformer) -> None:
    """The tests above say little unless both happen."""
    found = search(model, source_batch(), METHODS[0])
    assert {hypotheses[0].finished for hypotheses in found} == {True, False}


def test_the_limit_holds_and_the_model_is_never_asked_beyond_its_positions(model: Transformer) -> None:
    source = source_batch()
    for config in METHODS:
        wide = search(model, source, config.model_copy(update={"max_length_ratio": 100.0}))
        assert all(len(hypothesis.tokens) <= 48 for (hypothesis,) in wide)
        assert any(len(hypothesis.tokens) == 48 for (hypothesis,) in wide) or config.method != "greedy"
        narrow = search(model, source, config.model_copy(update={"max_length_ratio": 0.01, "min_length_ratio": 0.0}))
        assert all(len(hypothesis.tokens) <= 10 for (hypothesis,) in narrow)


def test_under_autocast_scores_are_still_float32(model: Transformer) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = search(model, source_batch(), METHODS[2])
    exact = search(model, source_batch(), METHODS[2])
    for (ours,), (theirs,) in zip(found, exact, strict=True):
        assert ours.normalized_score == pytest.approx(theirs.normalized_score, rel=0.1)
