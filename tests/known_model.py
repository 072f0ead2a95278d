"""A model whose probabilities are known, for the search to be held against."""

import itertools
import math

import torch
from torch import Tensor

from translator.search import Hypothesis
from translator.special_tokens import EOS, SOS

VOCABULARY = 7
PRODUCED = (EOS, 4, 5, 6)
"""What a search may choose from: neither PAD, UNK nor SOS."""


class KnownState:
    """The prefixes of all rows, and what `select` was asked for."""

    def __init__(self, names: list[int], width: int) -> None:
        self.width = width
        self.rows: list[tuple[int, tuple[int, ...]]] = [(name, ()) for name in names for _ in range(width)]
        self.sizes: list[int] = []

    def select(self, rows: Tensor) -> None:
        sentences = (rows // self.width).view(-1, self.width)
        assert (sentences == sentences[:, :1]).all(), "rows of a beam come from one sentence"
        assert (sentences[1:, 0] > sentences[:-1, 0]).all(), "sentences keep their order"
        self.rows = [self.rows[row] for row in rows.tolist()]
        self.sizes.append(len(self.rows))


class KnownModel:
    """Gives each (sentence, prefix) a distribution of its own, drawn from a seed; a sentence is its first token."""

    def __init__(self, seed: int, sharpness: float = 1.5, max_positions: int = 50) -> None:
        self.seed, self.sharpness, self.max_positions = seed, sharpness, max_positions
        self.state: KnownState | None = None
        self.steps = 0

    def start(self, source: Tensor, width: int = 1) -> KnownState:
        self.state = KnownState(source[:, 0].tolist(), width)
        return self.state

    def step(self, tokens: Tensor, cache: KnownState) -> Tensor:
        assert len(tokens) == len(cache.rows)
        self.steps += 1
        cache.rows = [
            (name, (*prefix, token)) for (name, prefix), token in zip(cache.rows, tokens.tolist(), strict=True)
        ]
        return torch.stack([self.logits(name, prefix) for name, prefix in cache.rows])

    def logits(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        """(V,) for what follows `prefix`, which begins with SOS."""
        assert prefix[0] == SOS
        digest = hash((self.seed, name, prefix)) % 2**31
        return self.sharpness * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(digest))

    def score(self, name: int, tokens: tuple[int, ...], finished: bool) -> float:
        """The sum of log-probabilities of `tokens`, and of EOS after them."""
        wanted = (*tokens, EOS) if finished else tokens
        prefix: tuple[int, ...] = (SOS,)
        total = 0.0
        for token in wanted:
            total += self.logits(name, prefix).log_softmax(-1)[token].item()
            prefix = (*prefix, token)
        return total

    def all_finished(self, name: int, limit: int, alpha: float) -> list[Hypothesis]:
        """Every finished hypothesis of at most `limit` tokens with EOS, best first, by brute force."""
        others = [token for token in PRODUCED if token != EOS]
        found = []
        for length in range(limit):
            for tokens in itertools.product(others, repeat=length):
                score = self.score(name, tokens, True)
                found.append(Hypothesis(tokens, score, score / ((5 + length + 1) / 6) ** alpha, True))
        return sorted(found, key=lambda hypothesis: -hypothesis.normalized_score)


class ScriptedModel(KnownModel):
    """Follows given rules: for each prefix without SOS, the probabilities of some tokens; the rest is spread evenly."""

    def __init__(self, rules: dict[tuple[int, ...], dict[int, float]], max_positions: int = 50) -> None:
        super().__init__(0, max_positions=max_positions)
        self.rules = rules

    def logits(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        given = self.rules.get(prefix[1:], {})
        rest = (1.0 - sum(given.values())) / (VOCABULARY - len(given))
        probabilities = [given.get(token, rest) for token in range(VOCABULARY)]
        return torch.tensor([math.log(max(probability, 1e-9)) for probability in probabilities])


def sources(*names: int) -> Tensor:
    """(B, 2): sentences by name."""
    return torch.tensor([[name, EOS] for name in names])


def limits(*lengths: int) -> Tensor:
    """(B,) longest lengths."""
    return torch.tensor(lengths)
