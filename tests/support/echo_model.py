"""A translator with a model that repeats its source, so that every translation is known."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from translator.config import NormalizationConfig, SearchConfig
from translator.core import EOS, SPECIAL_TOKENS
from translator.corpus.normalizer.normalizer import Normalizer
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.subword.spelling import SpellingCorrector

GREEDY = SearchConfig(method="greedy", batch_size=4)


class Words:
    """A subword model in which each word is a token, learnt when it is first seen."""

    def __init__(self, placeholders: str = "") -> None:
        self.words = [spelling for spelling, _ in SPECIAL_TOKENS]
        self.placeholders: dict[str, int] = {}
        for placeholder in placeholders:
            self.placeholders[placeholder] = len(self.words)
            self.words.append(placeholder)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        for word in " ".join(texts).split():
            if word not in self.words:
                self.words.append(word)
        return [list(map(self.words.index, text.split())) for text in texts]

    def has_sign(self, sign: str) -> bool:
        return True

    def has_pieces(self, text: str) -> bool:
        return True

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [" ".join(self.words[token] for token in row) for row in rows]

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        return [self.words[token] if token <= EOS else f"▁{self.words[token]}" for token in ids]


class EchoState:
    def __init__(self, rows: Tensor) -> None:
        self.rows = rows
        self.length = 0

    def select(self, rows: Tensor) -> None:
        self.rows = self.rows.index_select(0, rows)


class Echo(torch.nn.Module):
    max_positions = 100_000
    vocabulary = 4000

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, int]] = []

    def start(self, source: Tensor, width: int = 1) -> EchoState:
        assert not self.training
        assert torch.is_inference_mode_enabled()
        self.shapes.append((source.size(0), source.size(1)))
        return EchoState(source.repeat_interleave(width, dim=0))

    def step(self, tokens: Tensor, cache: EchoState, /) -> Tensor:
        last_position = cache.rows.size(1) - 1
        next_tokens = cache.rows[:, min(cache.length, last_position)]
        cache.length += 1
        # The logit of the next token is so high that its probability is one.
        return 50.0 * torch.nn.functional.one_hot(next_tokens.clamp(min=EOS), self.vocabulary)

    def cross_attention(self, source_length: int, target_length: int) -> Tensor:
        """Each target position attends to the first and to the last source position."""
        weights = torch.zeros(target_length, source_length)
        weights[:, 0] += 0.5
        weights[:, -1] += 0.5
        return weights


class EchoSearcher(TorchSearcher):
    """Takes the attention from the model's word, instead of recording it."""

    def cross_attention(self, row: Sequence[int], label: Sequence[int]) -> Any:
        model: Any = self.models[0]
        return model.cross_attention(len(row) + 1, len(label)).numpy()


def echo(
    max_length: int = 20, search: SearchConfig = GREEDY, source: Any = None, target: Any = None, model: Any = None
) -> tuple[Translator, Any]:
    """Return a translator, by default of words into the same words, and its model."""
    source = source or Words()
    model = model or Echo()
    sides = {"source": source, "target": target or source}
    pair: Any = type("Pair", (), sides | {"correct_spelling": SpellingCorrector({})})
    searcher = EchoSearcher([model], torch.device("cpu"))
    return Translator(searcher, pair, Normalizer(NormalizationConfig()), search, max_length, "echo"), model
