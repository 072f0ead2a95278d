"""The loop of greedy search and sampling: each row follows one path, a token at a time, and never looks back.

B batch, n sentences still being searched, W rows for each, R = n * W, S source length, V vocabulary
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from translator.search.constraints import Constraint, forbidden_tokens
from translator.search.continuations import log_probabilities_of
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import LengthPenalty
from translator.search.model import SearchModel, State
from translator.special_tokens import EOS, PAD, SOS


class Choose(Protocol):
    """Picks the next token of each row."""

    def __call__(self, logits: Tensor, forbidden: Tensor | None, sentences: Tensor, length: int) -> Tensor:
        """Return (R,) int64 tokens.

        Args:
            logits: (R, V) float32.
            forbidden: (R, V) bool, True = may not follow; None forbids PAD, UNK and SOS.
            sentences: (n,) int64, numbers of the sentences that the rows belong to, W rows for each.
            length: how many tokens the paths have with this one.
        """


@torch.inference_mode()
def follow_paths(
    model: SearchModel[State],
    source: Tensor,
    max_lengths: Tensor,
    choose: Choose,
    penalty: LengthPenalty,
    width: int = 1,
    constraints: Sequence[Constraint] = (),
) -> list[list[Hypothesis]]:
    """Follow W paths for each row of `source`; a sentence whose paths have all ended leaves the batch.

    Args:
        model: what gives the probabilities.
        source: (B, S) int64 ids.
        max_lengths: (B,) int64, tokens that each path may grow to, EOS included; at least 1.
        choose: picks the next tokens.
        penalty: of the normalized scores; it does not change what is found.
        width: W.
        constraints: on what may be chosen.

    Returns:
        For each row, in order, W hypotheses in the order of their paths.
    """
    if len(source) == 0:
        return []
    limits = max_lengths.to(source.device)  # (n,)
    longest = int(limits.max())
    produced = source.new_full((len(source), width, longest), PAD)  # (B, W, longest)
    scores = torch.zeros(produced.shape, device=source.device)  # (B, W, longest)
    live = torch.arange(len(source), device=source.device)  # (n,) numbers of the sentences
    slots = torch.arange(width, device=source.device)  # (W,)
    ended = torch.zeros(len(source), width, dtype=torch.bool, device=source.device)  # (n, W)
    tokens = source.new_full((len(source) * width,), SOS)  # (R,)
    state = model.start(source, width)
    for length in range(1, longest + 1):
        logits = model.step(tokens, state).float()  # (R, V)
        forbidden = None
        if constraints:
            so_far = produced[live, :, : length - 1].flatten(0, 1)  # (R, length - 1)
            forbidden = forbidden_tokens(constraints, logits.size(1), so_far, live.repeat_interleave(width))
        tokens = choose(logits, forbidden, live, length)
        log_probabilities = log_probabilities_of(tokens.unsqueeze(1), logits)  # (R, 1)
        produced[live, :, length - 1] = tokens.view(-1, width)
        scores[live, :, length - 1] = log_probabilities.view(-1, width)
        ended |= tokens.view(-1, width) == EOS  # such a path goes on with its sentence; what it adds is cut off below
        going = (~ended.all(dim=1) & (limits > length)).nonzero().squeeze(1)  # (n',) places among the live
        if len(going) == 0:
            break
        if len(going) < len(live):
            live, limits, ended = live[going], limits[going], ended[going]
            rows = (going.unsqueeze(1) * width + slots).flatten()  # (R',)
            tokens = tokens[rows]
            state.select(rows)
    return [
        [_hypothesis(path, path_scores, limit, penalty) for path, path_scores in zip(paths, all_scores, strict=True)]
        for paths, all_scores, limit in zip(produced.tolist(), scores.tolist(), max_lengths.tolist(), strict=True)
    ]


def _hypothesis(tokens: list[int], scores: list[float], limit: int, penalty: LengthPenalty) -> Hypothesis:
    """Return the hypothesis of one path: up to EOS where it comes within the limit, else up to the limit."""
    finished = EOS in tokens[:limit]
    length = tokens.index(EOS) if finished else limit
    return Hypothesis.from_tokens(tokens[:length], scores[: length + finished], finished, penalty)
