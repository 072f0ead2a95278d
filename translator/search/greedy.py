"""Greedy search: the likeliest token at every step.

B batch, R rows still being extended, S source length, V vocabulary
"""

import torch
from torch import Tensor

from translator.search.hypothesis import Hypothesis
from translator.search.model import SearchModel, State, best_continuations
from translator.special_tokens import EOS, PAD, SOS


@torch.inference_mode()
def greedy_search(
    model: SearchModel[State], source: Tensor, max_lengths: Tensor, length_penalty: float = 1.0
) -> list[Hypothesis]:
    """Translate each row of `source`; a row that has ended leaves the batch.

    Args:
        model: what gives the probabilities.
        source: (B, S) int64 ids.
        max_lengths: (B,) int64, tokens that each row may grow to, EOS included; at least 1.
        length_penalty: alpha of the normalized score; it does not change what is found.

    Returns:
        B hypotheses, in the order of the rows.
    """
    if len(source) == 0:
        return []
    max_lengths = max_lengths.to(source.device)
    produced = source.new_full((len(source), int(max_lengths.max())), PAD)  # (B, longest)
    scores = torch.zeros(len(source), device=source.device)  # (B,)
    live = torch.arange(len(source), device=source.device)  # (R,) rows of the batch
    tokens = source.new_full((len(source),), SOS)  # (R,)
    state = model.start(source)
    for length in range(1, produced.size(1) + 1):
        log_probabilities, best = best_continuations(model.step(tokens, state), 1)  # (R, 1) each
        tokens = best.squeeze(1)
        produced[live, length - 1] = tokens
        scores[live] += log_probabilities.squeeze(1)
        going = ((tokens != EOS) & (max_lengths[live] > length)).nonzero().squeeze(1)  # (R',)
        if len(going) == 0:
            break
        if len(going) < len(live):
            live, tokens = live[going], tokens[going]
            state.select(going)
    return [
        _hypothesis(row[:limit], score, length_penalty)
        for row, limit, score in zip(produced.tolist(), max_lengths.tolist(), scores.tolist(), strict=True)
    ]


def _hypothesis(row: list[int], score: float, alpha: float) -> Hypothesis:
    """Return the hypothesis of one row of tokens: up to EOS where there is one, else all of it."""
    finished = EOS in row
    return Hypothesis.from_tokens(row[: row.index(EOS)] if finished else row, score, finished, alpha)
