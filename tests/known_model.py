"""A model whose probabilities are known, for the search to be held against."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from translator.search import Hypothesis, LengthPenalty
from translator.special_tokens import EOS, SOS

VOCABULARY = 7
PRODUCED = (EOS, 4, 5, 6)
"""What a search may choose from: neither PAD, UNK nor SOS."""

MayFollow = Callable[[tuple[int, ...], int], bool]
"""Says whether a token may follow the tokens so far."""


def anything(tokens: tuple[int, ...], token: int) -> bool:
    """Allow what a search may choose from."""
    return token in PRODUCED


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
        self._known: dict[tuple[int, tuple[int, ...]], Tensor] = {}

    def start(self, source: Tensor, width: int = 1) -> KnownState:
        self.state = KnownState(source[:, 0].tolist(), width)
        return self.state

    def step(self, tokens: Tensor, cache: KnownState) -> Tensor:
        assert len(tokens) == len(cache.rows)
        self.steps += 1
        cache.rows = [
            (name, (*prefix, token)) for (name, prefix), token in zip(cache.rows, tokens.tolist(), strict=True)
        ]
        return torch.stack([self.known(name, prefix) for name, prefix in cache.rows])

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The logits (B, T, V) of all next tokens."""
        rows = zip(source[:, 0].tolist(), target_input.tolist(), strict=True)
        return torch.stack(
            [
                torch.stack([self.known(name, tuple(prefix[:length])) for length in range(1, len(prefix) + 1)])
                for name, prefix in rows
            ]
        )

    def known(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        """What `logits` says, asked once."""
        key = (name, prefix)
        if key not in self._known:
            self._known[key] = self.logits(name, prefix)
        return self._known[key]

    def logits(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        """(V,) for what follows `prefix`, which begins with SOS."""
        assert prefix[0] == SOS
        digest = hash((self.seed, name, prefix)) % 2**31
        return self.sharpness * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(digest))

    def token_scores(self, name: int, tokens: tuple[int, ...], finished: bool) -> list[float]:
        """The log-probability of each of `tokens`, and of EOS after them."""
        wanted = (*tokens, EOS) if finished else tokens
        prefixes = [(SOS, *tokens[:length]) for length in range(len(wanted))]
        known = [self.known(name, prefix).log_softmax(-1) for prefix in prefixes]
        return [scores[token].item() for scores, token in zip(known, wanted, strict=True)]

    def score(self, name: int, tokens: tuple[int, ...], finished: bool) -> float:
        """The sum of log-probabilities of `tokens`, and of EOS after them."""
        return sum(self.token_scores(name, tokens, finished))

    def all_hypotheses(
        self, name: int, limit: int, penalty: LengthPenalty, may_follow: MayFollow = anything
    ) -> list[Hypothesis]:
        """Every hypothesis of at most `limit` tokens with EOS, best first, finished ones first, by brute force."""
        found = []
        open_ones: list[tuple[int, ...]] = [()]
        while open_ones:
            tokens = open_ones.pop()
            allowed = [token for token in range(VOCABULARY) if may_follow(tokens, token)] or [EOS]
            for token in allowed:
                grown = (*tokens, token)
                if token == EOS:
                    found.append(Hypothesis.from_tokens(tokens, self.token_scores(name, tokens, True), True, penalty))
                elif len(grown) == limit:
                    found.append(Hypothesis.from_tokens(grown, self.token_scores(name, grown, False), False, penalty))
                else:
                    open_ones.append(grown)
        return sorted(found, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.normalized_score))


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
