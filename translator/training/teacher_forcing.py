"""Teacher forcing, as it is differentiated: the model reads the true words before each word; its loss.

B batch, S source length, T target length, N packed target tokens, D model width, V vocabulary
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from translator.model import Transformer
from translator.model.packing import PADDED, Packed
from translator.special_tokens import PAD
from translator.training.compilation import Compiled
from translator.training.loss import SummedLoss, label_smoothed_loss, projected_loss
from translator.training.r_drop import symmetric_divergence


class Losses(NamedTuple):
    """What a batch costs."""

    smoothed: Tensor
    """() summed over its real target tokens, to be minimised."""
    of_sentences: Tensor
    """(B,) float32, detached: -log p of each sentence in nats, without smoothing."""


class TeacherForcing(nn.Module):
    """A model with its training loss, as one module, so that it can be compiled or distributed as a whole.

    Args:
        model: what is trained.
        label_smoothing: ε of the loss.
        r_drop: weight of R-Drop (translator/training/r_drop.py); 0 is off.
        packed: work on real tokens only (translator/model/packing.py).
        compiled: compile everything up to the output head; for batches that are not packed.
    """

    def __init__(
        self, model: Transformer, label_smoothing: float, r_drop: float, packed: bool, compiled: bool = False
    ) -> None:
        super().__init__()
        assert not (packed and compiled), "how a batch is packed depends on its tokens, which no compiler can foresee"
        self.model = model
        self.label_smoothing = label_smoothing
        self.r_drop = r_drop
        self.packed = packed
        self.compiled = Compiled(self._padded_states) if compiled else None
        """Counts compilations."""

    @property
    def passes(self) -> int:
        """How often a batch goes through the model now: twice with R-Drop, once where nothing is dropped anyway."""
        return 2 if self.r_drop and self.model.training else 1

    def forward(self, source: Tensor, target_input: Tensor, labels: Tensor) -> Losses:
        """Return the losses of a batch.

        Args:
            source: (B, S) int64 ids, EOS at the end, filled with PAD.
            target_input: (B, T) int64 ids, SOS first, filled with PAD.
            labels: (B, T) int64 ids, EOS at the end, filled with PAD.
        """
        rows = len(source)
        twice = self.passes == 2
        if twice:
            source, target_input, labels = (torch.cat((x, x)) for x in (source, target_input, labels))
        states, targets, sentences = self._states(source, target_input, labels)
        if not twice:
            loss = projected_loss(states, self.model.head_weight, targets, self.label_smoothing)
            return Losses(loss.smoothed, _by_sentence(loss.of_tokens, sentences, rows))
        loss, divergence = self._agreeing(states, targets)
        both = _by_sentence(loss.of_tokens, sentences[targets != PAD], 2 * rows)
        return Losses(0.5 * (loss.smoothed + self.r_drop * divergence), 0.5 * (both[:rows] + both[rows:]))

    def _states(self, source: Tensor, target_input: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return states (N, D), labels (N,) and the number of the sentence (N,) of each target token.

        Tokens that are padding or rounding have the label PAD.
        """
        if self.packed:
            of_target = Packed(target_input, PAD)
            states = self.model.states(source, target_input, (Packed(source, PAD), of_target))
            return states, of_target.pack(labels), of_target.sentences
        compute: Callable[[Tensor, Tensor], Tensor] = self.compiled or self._padded_states
        sentences = torch.arange(labels.size(0), device=labels.device).unsqueeze(1).expand_as(labels)
        return compute(source, target_input).flatten(0, 1), labels.flatten(), sentences.flatten()

    def _padded_states(self, source: Tensor, target_input: Tensor) -> Tensor:
        return self.model.states(source, target_input, (PADDED, PADDED))

    def _agreeing(self, states: Tensor, targets: Tensor) -> tuple[SummedLoss, Tensor]:
        """Return the loss of both passes and their divergence, both summed over the real tokens of `targets`."""
        real = targets != PAD  # picking them waits for a GPU; the doubled pass is far longer than the wait
        logits = self.model.project(states[real])  # (2N, V), first pass first
        return label_smoothed_loss(logits, targets[real], self.label_smoothing), symmetric_divergence(logits)


def _by_sentence(of_tokens: Tensor, sentences: Tensor, count: int) -> Tensor:
    """Return (count,) sums of `of_tokens` over the tokens of each sentence."""
    return of_tokens.new_zeros(count).index_add_(0, sentences, of_tokens)
