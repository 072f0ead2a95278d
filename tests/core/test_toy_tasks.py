"""The core trains on toy tasks that any correct Transformer learns, and translates them, by itself."""

import pytest
import torch

from tests.support.toy_training import TASKS, toy_learner, toy_pairs, toy_steps
from translator.core.batch import collate_source
from translator.core.hypothesis import SearchSettings
from translator.core.loop import LoopSettings, Progress, train
from translator.core.optimizer import ScheduleSettings
from translator.core.search import beam_search
from translator.core.transformer import Transformer

UPDATES = 300
UNSEEN = 200


class Nothing:
    """No reports, no validation, no files."""

    def updated(self, *_: object) -> None:
        pass

    def validate(self) -> None:
        pass

    def save(self) -> None:
        pass


@pytest.fixture(scope="module", params=["copy", "sort"])  # test_page.py has `reverse`
def task(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def trained(task: str) -> Transformer:
    """A model that was trained on all pairs but the unseen ones."""
    pairs = toy_pairs(TASKS[task], 5000)[UNSEEN:]
    learner = toy_learner(ScheduleSettings(6e-3, "cosine", warmup_steps=50, max_steps=UPDATES), positions="learned")
    ended_by = train(
        learner=learner,
        batches=toy_steps(pairs),
        progress=Progress(),
        settings=LoopSettings(max_steps=UPDATES, save_every=UPDATES),
        surroundings=Nothing(),
    )
    assert ended_by == "max_steps"
    return learner.loss.model.eval()


@pytest.mark.parametrize("width", [1, 4], ids=["greedy", "beam"])
def test_a_trained_model_solves_98_percent_of_what_it_has_not_seen(task: str, trained: Transformer, width: int) -> None:
    unseen = toy_pairs(TASKS[task], 5000)[:UNSEEN]
    source = collate_source([ids for ids, _ in unseen])
    longest = torch.full((UNSEEN,), 12)
    results = beam_search(trained, source, longest, SearchSettings(beam_size=width))
    correct = 0
    for (hypothesis,), (_, target) in zip(results, unseen, strict=True):
        correct += list(hypothesis.tokens) == target
    assert correct >= 0.98 * UNSEEN
