"""A model whose probabilities are known, for the search to be held against."""

from collections.abc import Callable

import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.search.hypothesis import Hypothesis
from translator.special_tokens import EOS, SOS

VOCABULARY = 7
PRODUCED = (EOS, 4, 5, 6)  # what a search may choose from: neither PAD, UNK nor SOS

MayFollow = Callable[[tuple[int, ...], int], bool]  # says whether a token may follow the tokens so far


class KnownState:
    """The prefixes of all rows, and how many rows each `select` has left."""

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

    max_positions = 50

    def __init__(self, seed: int) -> None:
        self.seed, self.steps = seed, 0
        self.state: KnownState | None = None
        self._known: dict[tuple[int, tuple[int, ...]], Tensor] = {}

    def start(self, source: Tensor, width: int = 1) -> KnownState:
        self.state = KnownState(source[:, 0].tolist(), width)
        return self.state

    def step(self, tokens: Tensor, cache: KnownState) -> Tensor:
        self.steps += 1
        added = zip(cache.rows, tokens.tolist(), strict=True)
        cache.rows = [(name, (*prefix, token)) for (name, prefix), token in added]
        return torch.stack([self.known(name, prefix) for name, prefix in cache.rows])

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The logits (B, T, V) of all next tokens."""
        rows = zip(source[:, 0].tolist(), map(tuple, target_input.tolist()), strict=True)
        ends = range(1, target_input.size(1) + 1)
        return torch.stack([torch.stack([self.known(name, prefix[:end]) for end in ends]) for name, prefix in rows])

    def known(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        if (name, prefix) not in self._known:
            self._known[name, prefix] = self.logits(name, prefix)
        return self._known[name, prefix]

    def logits(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        """(V,) for what follows `prefix`, which begins with SOS."""
        assert prefix[0] == SOS
        digest = hash((self.seed, name, prefix)) % 2**31
        return 1.5 * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(digest))

    def hypothesis(self, name: int, tokens: tuple[int, ...], finished: bool, config: SearchConfig) -> Hypothesis:
        """The hypothesis of `tokens`, and of EOS after them if `finished`, with the scores by definition."""
        wanted = (*tokens, EOS) if finished else tokens
        known = [self.known(name, (SOS, *wanted[:length])).log_softmax(-1) for length in range(len(wanted))]
        scores = [of_all[token].item() for of_all, token in zip(known, wanted, strict=True)]
        return Hypothesis.from_tokens(tokens, scores, finished, config)

    def all_hypotheses(self, name: int, limit: int, config: SearchConfig, may_follow: MayFollow) -> list[Hypothesis]:
        """Every hypothesis of at most `limit` tokens with EOS, best first, finished ones first, by brute force."""
        found = []
        open_ones: list[tuple[int, ...]] = [()]
        while open_ones:
            tokens = open_ones.pop()
            for token in [token for token in range(VOCABULARY) if may_follow(tokens, token)] or [EOS]:
                grown = (*tokens, token)
                if token == EOS:
                    found.append(self.hypothesis(name, tokens, True, config))
                elif len(grown) == limit:
                    found.append(self.hypothesis(name, grown, False, config))
                else:
                    open_ones.append(grown)
        return sorted(found, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.normalized_score))


class ScriptedModel(KnownModel):
    """Follows given rules: for each prefix without SOS, the probabilities of some tokens; the others are unlikely."""

    def __init__(self, rules: dict[tuple[int, ...], dict[int, float]]) -> None:
        super().__init__(0)
        self.rules = rules

    def logits(self, name: int, prefix: tuple[int, ...]) -> Tensor:
        given = self.rules.get(prefix[1:], {})
        return torch.tensor([given.get(token, 1e-3) for token in range(VOCABULARY)]).log()


def sources(*names: int) -> Tensor:
    """(B, 2): sentences by name."""
    return torch.tensor([[name, EOS] for name in names])


def same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    """Hold hypotheses against expected ones: all but the last bits of their scores is equal."""
    assert [(one.tokens, one.finished) for one in found] == [(one.tokens, one.finished) for one in expected]
    for ours, theirs in zip(found, expected, strict=True):
        scores = torch.tensor([*ours.token_scores, ours.score, ours.normalized_score])
        by_definition = torch.tensor([*theirs.token_scores, theirs.score, theirs.normalized_score])
        torch.testing.assert_close(scores, by_definition, rtol=1e-6, atol=1e-5)
