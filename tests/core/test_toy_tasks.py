"""The core trains on a toy task that any correct Transformer learns, and translates it, by itself."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from tests.support.small_model import Pair
from tests.support.step_batches import step_of
from translator.core import EOS
from translator.core.batch import StepBatches, collate_rows, collate_source
from translator.core.hypothesis import SearchSettings
from translator.core.layers import NetworkSettings
from translator.core.loop import LoopSettings, Progress, train
from translator.core.loss import TeacherForcing
from translator.core.optimizer import ModelOptimizer, OptimizerSettings, ScheduleSettings
from translator.core.packing import plan_rows
from translator.core.search import beam_search
from translator.core.transformer import Transformer
from translator.core.update import Gradients, Learner

LETTERS = range(EOS + 1, EOS + 9)
NETWORK = NetworkSettings(
    64, 4, encoder_layers=1, decoder_layers=1, feed_forward=128, positions="learned", max_positions=32
)
UPDATES = 250
UNSEEN = 200
ROW_LENGTH = 16
ROWS = 24  # of a batch


class Nothing:
    """No reports, no validation, no files."""

    def updated(self, *_: object) -> None:
        pass

    def validate(self) -> None:
        pass

    def save(self) -> None:
        pass


def sorting_pairs() -> list[Pair]:
    """5000 pairs of two to six letters and the same letters sorted; no two sources are equal."""
    generator = np.random.default_rng(1)
    sources: dict[tuple[int, ...], None] = {}
    while len(sources) < 5000:
        letters = generator.choice(LETTERS, generator.integers(2, 7))
        sources[tuple(letters.tolist())] = None
    return [(list(source), sorted(source)) for source in sources]


PAIRS = sorting_pairs()  # test_page.py has another task: to reverse


def packed_batches(pairs: list[Pair]) -> Iterator[StepBatches]:
    """Yield batches of packed rows, epoch after epoch; a batch never spans two epochs."""
    lengths = np.array([(len(source) + 1, len(target) + 1) for source, target in pairs])
    for epoch in itertools.count():
        plan = plan_rows(lengths[:, 0], lengths[:, 1], ROW_LENGTH, np.random.default_rng([1, epoch]))
        for begin in range(0, len(plan) - ROWS + 1, ROWS):
            packed = [plan.pairs_of(row, row + 1) for row in range(begin, begin + ROWS)]
            yield step_of([collate_rows([[pairs[number] for number in numbers] for numbers in packed], ROW_LENGTH)])


@pytest.fixture(scope="module")
def trained() -> Transformer:
    """A model that was trained on all pairs but the unseen ones."""
    torch.manual_seed(2)
    model = Transformer(NETWORK, LETTERS.stop, LETTERS.stop)
    ended_by = train(
        learner=Learner(
            loss=TeacherForcing(model),
            optimizer=ModelOptimizer(model, OptimizerSettings()),
            gradients=Gradients(model.parameters()),
            schedule=ScheduleSettings(6e-3, "cosine", warmup_steps=50, max_steps=UPDATES),
        ),
        batches=packed_batches(PAIRS[UNSEEN:]),
        progress=Progress(),
        settings=LoopSettings(max_steps=UPDATES, save_every=UPDATES),
        surroundings=Nothing(),
    )
    assert ended_by == "max_steps"
    return model.eval()


@pytest.mark.parametrize("width", [1, 4], ids=["greedy", "beam"])
def test_a_trained_model_solves_98_percent_of_what_it_has_not_seen(trained: Transformer, width: int) -> None:
    source = collate_source([ids for ids, _ in PAIRS[:UNSEEN]])
    longest = torch.full((UNSEEN,), 12)
    results = beam_search(trained, source, longest, SearchSettings(beam_size=width))
    correct = 0
    for (hypothesis,), (_, target) in zip(results, PAIRS, strict=False):
        correct += list(hypothesis.tokens) == target
    assert correct >= 0.98 * UNSEEN
