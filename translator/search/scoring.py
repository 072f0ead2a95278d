"""Scores of given targets, by teacher forcing.

B sentences, S source length, T target length, V vocabulary
"""

from collections.abc import Callable

import torch
from torch import Tensor

from translator.core import SOS
from translator.core.batch import collate_source
from translator.core.hypothesis import Hypothesis, Rows, SearchSettings


@torch.inference_mode()
def score_targets(
    model: Callable[[Tensor, Tensor], Tensor], source: Tensor, targets: Rows, settings: SearchSettings
) -> list[Hypothesis]:
    """Return each target as a finished hypothesis, scored by teacher forcing in float32 without a cache.

    Args:
        model: a `Transformer` in evaluation mode, or an `Ensemble`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        targets: B targets, without SOS and EOS; UNK is scored like any other token.
        settings: give the length penalty of the normalized scores.

    Raises ValueError: a target has more tokens than the model has positions.
    """
    # Labels have the form of sources: each target ended by EOS and padded.
    labels = collate_source(targets).to(source.device)  # (B, T)
    log_probabilities = _label_log_probabilities(model, source, labels).tolist()  # (B, T)
    hypotheses = []
    for target, row_scores in zip(targets, log_probabilities, strict=True):
        # A target has one score more than tokens, that of EOS; what follows is of PAD.
        token_scores = row_scores[: len(target) + 1]
        hypotheses.append(Hypothesis.from_tokens(target, token_scores, finished=True, settings=settings))
    return hypotheses


def _label_log_probabilities(model: Callable[[Tensor, Tensor], Tensor], source: Tensor, labels: Tensor) -> Tensor:
    """Return the log-probability (B, T) float32 of each of `labels` (B, T), for `source` (B, S)."""
    beginnings = labels.new_full((len(labels), 1), SOS)
    target_input = torch.cat((beginnings, labels[:, :-1]), dim=1)  # (B, T)
    logits = model(source, target_input).float()  # (B, T, V)
    label_logits = logits.gather(2, labels.unsqueeze(2)).squeeze(2)  # (B, T)
    return label_logits - logits.logsumexp(dim=2)
