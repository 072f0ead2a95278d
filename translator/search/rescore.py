"""The score that a model gives to targets that are there already, by teacher forcing: the oracle of every search.

B batch, S source length, T target length, V vocabulary
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from translator.search.alike import alike
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import USUAL_PENALTY, LengthPenalty
from translator.search.model import TeacherForcedModel
from translator.special_tokens import EOS, PAD, SOS

TARGET_POSITIONS_AT_ONCE = 2_048
"""Target positions of a batch at most, since each takes logits for the whole vocabulary."""


@torch.inference_mode()
def score_targets(
    model: TeacherForcedModel,
    source: Tensor,
    target_ids: Sequence[Sequence[int]],
    penalty: LengthPenalty = USUAL_PENALTY,
    finished: Sequence[bool] | None = None,
) -> list[Hypothesis]:
    """Return the hypothesis that each target would be, had a search found it, computed in float32 without any cache.

    Args:
        model: a `Transformer` in evaluation mode, or an `Ensemble`.
        source: (B, S) int64 ids, EOS at the end, filled with PAD.
        target_ids: B targets, without SOS and EOS; UNK is scored as the token it is.
        penalty: of the normalized scores.
        finished: whether EOS comes after each target; it does where this is not given.

    Raises:
        InputError: a target has more tokens than the model has positions.
    """
    ends = [True] * len(target_ids) if finished is None else finished
    rows = [[*ids, *[EOS] * end] for ids, end in zip(target_ids, ends, strict=True)]
    found: list[Hypothesis | None] = [None] * len(rows)
    for numbers in alike(
        [len(row) for row in rows], lambda longest: max(1, TARGET_POSITIONS_AT_ONCE // max(1, longest))
    ):
        labels = _filled([rows[number] for number in numbers]).to(source.device)  # (B, T)
        target_input = torch.cat((labels.new_full((len(labels), 1), SOS), labels[:, :-1]), dim=1)  # (B, T)
        target_input = target_input.masked_fill(target_input == EOS, PAD)  # what follows the end is of no account
        places = torch.tensor(numbers, device=source.device)
        own = source[places]
        own = own[:, : int((own != PAD).sum(dim=1).max())]
        logits = model(own, target_input).float()  # (B, T, V)
        chosen = logits.gather(2, labels.unsqueeze(2)).squeeze(2) - logits.logsumexp(dim=2)  # (B, T)
        for number, scores in zip(numbers, chosen.tolist(), strict=True):
            own_scores = scores[: len(rows[number])]
            found[number] = Hypothesis.from_tokens(target_ids[number], own_scores, ends[number], penalty)
    return [hypothesis for hypothesis in found if hypothesis is not None]


def _filled(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return (B, T) int64, `rows` filled with PAD, at least one token long."""
    longest = max(1, *map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.long)
