"""Scores of given targets, by teacher forcing.

B sentences, S source length, T target length, V vocabulary
"""

from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.core import EOS, PAD, SOS
from translator.core.hypothesis import Hypothesis, Rows
from translator.search.batches_by_length import batches_by_length

TARGET_POSITIONS_AT_ONCE = 2_048  # per batch of `score_targets`; each has logits over the whole vocabulary
_DEFAULTS: Final = SearchConfig()


@torch.inference_mode()
def score_targets(
    model: Callable[[Tensor, Tensor], Tensor], source: Tensor, targets: Rows, config: SearchConfig = _DEFAULTS
) -> list[Hypothesis]:
    """Return each target as a finished hypothesis, scored by teacher forcing in float32 without a cache.

    Args:
        model: a `Transformer` in evaluation mode, or an `Ensemble`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        targets: B targets, without SOS and EOS; UNK is scored like any other token.
        config: gives the length penalty of the normalized scores.

    Raises InputError: a target has more tokens than the model has positions.
    """
    hypotheses: dict[int, Hypothesis] = {}
    lengths = [len(target) for target in targets]
    for batch in batches_by_length(lengths, _targets_at_once):
        # 1. Drop the columns of the source that are PAD in every row of the batch.
        batch_source = source[torch.tensor(batch, device=source.device)]
        longest_source = int((batch_source != PAD).sum(dim=1).max())
        batch_source = batch_source[:, :longest_source]  # (B, S)

        # 2. Score the labels of the batch.
        labels = _padded([targets[number] for number in batch], source.device)  # (B, T)
        log_probabilities = _label_log_probabilities(model, batch_source, labels).tolist()  # (B, T)

        # 3. Drop the scores of PAD. A target has one score more than tokens, that of EOS.
        for number, row_scores in zip(batch, log_probabilities, strict=True):
            token_scores = row_scores[: lengths[number] + 1]
            hypotheses[number] = Hypothesis.from_tokens(targets[number], token_scores, True, config.settings)
    return [hypotheses[number] for number in range(len(targets))]


def _targets_at_once(longest: int) -> int:
    """Return the number of targets of a batch whose longest one has `longest` tokens, EOS excluded."""
    return max(1, TARGET_POSITIONS_AT_ONCE // (longest + 1))


def _padded(targets: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return labels (B, T) int64: each target with EOS, padded with PAD."""
    longest = max(len(target) for target in targets)
    rows = []
    for target in targets:
        padding = [PAD] * (longest - len(target))
        rows.append([*target, EOS, *padding])
    return torch.tensor(rows, device=device)


def _label_log_probabilities(model: Callable[[Tensor, Tensor], Tensor], source: Tensor, labels: Tensor) -> Tensor:
    """Return the log-probability (B, T) float32 of each of `labels` (B, T), for `source` (B, S)."""
    beginnings = labels.new_full((len(labels), 1), SOS)
    target_input = torch.cat((beginnings, labels[:, :-1]), dim=1)  # (B, T)
    target_input = target_input.masked_fill(target_input == EOS, PAD)  # positions after the end are ignored
    logits = model(source, target_input).float()  # (B, T, V)
    label_logits = logits.gather(2, labels.unsqueeze(2)).squeeze(2)  # (B, T)
    return label_logits - logits.logsumexp(dim=2)
