"""All that a step needs, built from a recipe: the model, what it is computed with, and the optimizer."""

from typing import Final

import torch
from numpy.typing import ArrayLike

from translator.config import Config
from translator.device import Arithmetic
from translator.matrix_rate import matrix_rate
from translator.model import Transformer
from translator.training.choices import Choices
from translator.training.flops import StepFlops
from translator.training.gradients import Gradients
from translator.training.memory import largest_batches, rehearse
from translator.training.meter import Speed
from translator.training.norms import BlockNorms
from translator.training.optimizer import ModelOptimizer
from translator.training.prefetch import PlacedStep, Placing, unchanged
from translator.training.ranks import Ranks
from translator.training.schedule import drops, learning_rate
from translator.training.shapes import without_ones
from translator.training.step import StepResult, take_step
from translator.training.teacher_forcing import TeacherForcing

WORTH_MEASURING: Final = 200
"""Steps; measuring the machine takes a third of a second."""


class Engine:
    """The weights of a run and all that changes them; `step` is training.

    Args:
        config: the recipe.
        vocabularies: tokens of source and target.
        device: of this process.
        choices: what the machine decided.
        ranks: the processes that share each step.
    """

    def __init__(
        self, config: Config, vocabularies: tuple[int, int], device: torch.device, choices: Choices, ranks: Ranks
    ) -> None:
        settings = config.training
        self._config = config
        self._ranks = ranks
        self.model = Transformer(config.model, *vocabularies).to(device)
        self.model.use_attention(choices.attention)
        self.optimizer = ModelOptimizer(self.model, settings)
        self.arithmetic = Arithmetic(device, choices.precision)
        self.learner = TeacherForcing(
            self.model, settings.label_smoothing, settings.r_drop, choices.packed, choices.compile
        )
        self.placing = Placing(device, without_ones if choices.compile else unchanged)
        self.gradients: Gradients

    def connect(self) -> None:
        """Meet the other processes, which take the weights of the first; to be called once, before the first step.

        Raises:
            RunError: another process is lost.
        """
        wrapped = self._ranks.wrap(self.learner)
        self.gradients = Gradients(wrapped, self.arithmetic, self._ranks, self.placing)
        self.gradients.settle()

    def rehearse(self) -> None:
        """Compute the largest batches once for nothing: compiling is done then, and a lack of a GPU's memory known.

        Where dropout begins late they are computed without it, too, since a compiler makes other code of that.

        Raises:
            RunError: a single pair of the greatest length does not fit.
        """
        if self.arithmetic.device.type == "cpu" and self.learner.compiled is None:
            return
        for dropping in (False, True) if self._config.training.dropout_from > 1 else (True,):
            self.gradients.learner.train(dropping)
            self._rehearse()

    def _rehearse(self) -> None:
        if self.learner.compiled is None:
            self._compute_largest()
            return
        from torch._dynamo.exc import TorchDynamoException  # with compiling, this is loaded anyway

        try:
            self._compute_largest()
        except TorchDynamoException as error:  # of the backward pass: those of the forward pass are seen to
            self.learner.compiled.give_up(error)
            self.gradients.discard()
            self._compute_largest()

    def _compute_largest(self) -> None:
        batching, gradients = self._config.batching, self.gradients
        weights = sum(weight.numel() * weight.element_size() for weight in self.model.parameters())
        with self._ranks.local(gradients.learner):
            rehearse(
                largest_batches(batching.tokens_per_batch, batching.max_length, batching.max_sentences),
                self.placing,
                lambda placed: gradients.backward(placed, placed.batch.target_tokens),
                gradients.discard,
                later_bytes=0 if self.optimizer.used else 2 * weights,
            )

    def step(
        self, placed: PlacedStep, number: int, seconds: float = 0.0, norms: BlockNorms | None = None
    ) -> StepResult:
        """Update the weights once, `seconds` after the run's beginning; see `take_step`.

        Raises:
            RunError: one pair alone does not fit into memory, or another process is lost.
        """
        # Nothing but dropout, and R-Drop for its sake, asks whether the model is in training.
        settings, seed = self._config.training, (self._config.run.seed, self._ranks.rank)
        self.gradients.learner.train(drops(number, settings, seconds))
        rate = learning_rate(number, settings, seconds)
        return take_step(self.gradients, self.optimizer, placed, number, rate, settings.gradient_clip, seed, norms)

    def speed(self) -> Speed | None:
        """Measure what the share of the matrix rate is counted with; None for a run too short to be worth it."""
        settings, arithmetic = self._config.training, self.arithmetic
        if settings.max_steps < WORTH_MEASURING:
            return None
        vocabulary = len(self.model.head_weight)
        flops = StepFlops(self._config.model, vocabulary)
        learner = self.learner

        def of_step(source_lengths: ArrayLike, target_lengths: ArrayLike) -> float:
            return learner.passes * flops(source_lengths, target_lengths)

        return Speed(of_step, matrix_rate(arithmetic.device, arithmetic.precision))
