"""A model whose probabilities are known, so that a search can be compared with its definition."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from translator.core import EOS, SOS
from translator.core.hypothesis import Hypothesis, SearchSettings

VOCABULARY = 7
PRODUCIBLE = (EOS, 4, 5, 6)  # the tokens that a search may choose: not PAD, UNK and SOS

MayFollow = Callable[[tuple[int, ...], int], bool]
"""Returns whether a token may follow the tokens so far."""


class KnownState:
    """The prefix of each row, and the number of rows after each `select`."""

    def __init__(self, names: list[int], width: int) -> None:
        self.width = width
        self.rows: list[tuple[int, tuple[int, ...]]] = []
        for name in names:
            self.rows += [(name, ())] * width
        self.row_counts: list[int] = []

    def select(self, rows: Tensor) -> None:
        sentences = (rows // self.width).view(-1, self.width)
        assert (sentences == sentences[:, :1]).all(), "rows of a beam come from one sentence"
        assert (sentences[1:, 0] > sentences[:-1, 0]).all(), "sentences keep their order"
        self.rows = [self.rows[row] for row in rows.tolist()]
        self.row_counts.append(len(self.rows))


class KnownModel:
    """Gives each sentence and prefix a distribution of its own, drawn from a seed; the first id names a sentence."""

    max_positions = 50
    training = False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.steps = 0
        self.state: KnownState | None = None
        self._cache: dict[tuple[int, tuple[int, ...]], Tensor] = {}

    def start(self, source: Tensor, width: int = 1) -> KnownState:
        self.state = KnownState(source[:, 0].tolist(), width)
        return self.state

    def step(self, tokens: Tensor, cache: KnownState) -> Tensor:
        self.steps += 1
        grown_rows = []
        for (name, prefix), token in zip(cache.rows, tokens.tolist(), strict=True):
            grown_rows.append((name, (*prefix, token)))
        cache.rows = grown_rows
        return torch.stack([self.next_logits(name, prefix) for name, prefix in cache.rows])

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the logits (B, T, V) of all next tokens."""
        rows = []
        for name, prefix in zip(source[:, 0].tolist(), target_input.tolist(), strict=True):
            logits = [self.next_logits(name, tuple(prefix[:end])) for end in range(1, len(prefix) + 1)]
            rows.append(torch.stack(logits))
        return torch.stack(rows)

    def next_logits(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        """Return the logits (V,) of the tokens after `prefix`, which begins with SOS; computed once."""
        if (name, prefix) not in self._cache:
            self._cache[name, prefix] = self.logits(name, prefix)
        return self._cache[name, prefix]

    def logits(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        """Return the logits (V,) of the tokens after `prefix`; subclasses change these."""
        assert prefix[0] == SOS
        seed = hash((self.seed, name, prefix)) % 2**31
        return 1.5 * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(seed))

    def hypothesis(self, name: int, tokens: tuple[int, ...], finished: bool, settings: SearchSettings) -> Hypothesis:
        """Return the hypothesis of `tokens`, with EOS after them if `finished`, and its scores by definition."""
        labels = (*tokens, EOS) if finished else tokens
        token_scores = []
        for place, label in enumerate(labels):
            log_probabilities = self.next_logits(name, (SOS, *labels[:place])).log_softmax(-1)
            token_scores.append(log_probabilities[label].item())
        return Hypothesis.from_tokens(tokens, token_scores, finished, settings)

    def all_hypotheses(
        self, name: int, limit: int, settings: SearchSettings, may_follow: MayFollow
    ) -> list[Hypothesis]:
        """Return every hypothesis of at most `limit` tokens with EOS, best first, finished ones first."""
        hypotheses = []
        unfinished: list[tuple[int, ...]] = [()]
        while unfinished:
            tokens = unfinished.pop()
            allowed = [token for token in range(VOCABULARY) if may_follow(tokens, token)]
            for token in allowed or [EOS]:
                longer = (*tokens, token)
                if token == EOS:
                    hypotheses.append(self.hypothesis(name, tokens, finished=True, settings=settings))
                elif len(longer) == limit:
                    hypotheses.append(self.hypothesis(name, longer, finished=False, settings=settings))
                else:
                    unfinished.append(longer)
        return sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.normalized_score))


class ScriptedModel(KnownModel):
    """Follows given rules: for each prefix without SOS, the probabilities of some tokens; the others are unlikely."""

    def __init__(self, rules: dict[tuple[int, ...], dict[int, float]]) -> None:
        super().__init__(0)
        self.rules = rules

    def logits(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        probabilities = torch.full((VOCABULARY,), 1e-3)
        for token, probability in self.rules.get(prefix[1:], {}).items():
            probabilities[token] = probability
        return probabilities.log()


def sources(*names: int) -> Tensor:
    """Return sentences (B, 2) by name."""
    return torch.tensor([[name, EOS] for name in names])


def assert_same_hypotheses(hypotheses: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> None:
    """Assert that the tokens are equal, and that the scores are, to a rounding error."""
    assert len(hypotheses) == len(expected)
    for ours, theirs in zip(hypotheses, expected, strict=True):
        assert (ours.tokens, ours.finished) == (theirs.tokens, theirs.finished)
        scores = torch.tensor([*ours.token_scores, ours.score, ours.normalized_score])
        expected_scores = torch.tensor([*theirs.token_scores, theirs.score, theirs.normalized_score])
        torch.testing.assert_close(scores, expected_scores, rtol=1e-6, atol=1e-5)
