"""The event files of a run, which TensorBoard reads. The only file that writes them.

TensorBoard sorts groups of curves by name and opens the first two: `loss` and `quality`, so no other comes before them.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from translator.evaluation import Score, TranslatedPair
from translator.evaluation.tables import escape_markdown
from translator.evaluation.text_variants import RAW
from translator.run.files import storage_errors
from translator.run.text import is_persian

TEST_SUFFIX: Final = ".test"  # suffix of an event file that an evaluation wrote
_VALIDATION_TAGS: Final = {
    "loss": "loss/validation",
    "perplexity": "validation/perplexity",
    "bleu": "quality/bleu",
    "chrf": "quality/chrf",
}
"""The curve of each score of a validation."""


class EventFile:
    """One event file in the folder of a run; every method raises StorageError if it cannot write."""

    def __init__(self, folder: Path, step: int) -> None:
        """Open a new file in `folder` for the steps after `step`; later points of earlier files disappear."""
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        self._folder = folder
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            # TensorBoard ignores the points of earlier files from `purge_step` on.
            self._writer: Any = SummaryWriter(str(folder), purge_step=step + 1)

    def add_curves(self, curves: Mapping[str, Mapping[str, float]], step: int) -> None:
        """Write the points of curves, by group and name."""
        with storage_errors(self._folder):
            for group, values in curves.items():
                for name, value in values.items():
                    self._writer.add_scalar(f"{group}/{name}", value, step)

    def add_validation(self, scores: Mapping[str, float], step: int) -> None:
        """Write the points of the scores of a validation."""
        with storage_errors(self._folder):
            for name, value in scores.items():
                self._writer.add_scalar(_VALIDATION_TAGS[name], value, step)

    def add_translations(self, pairs: Sequence[TranslatedPair], step: int) -> None:
        """Write a table of sample translations, if there are any."""
        if not pairs:
            return
        cells = []
        for pair in pairs:
            translation = isolate_persian(pair.hypothesis, like=pair.reference)
            cells.append((isolate_persian(pair.source), isolate_persian(pair.reference), translation))
        table = tabulate(cells, ("source", "reference", "translation"), tablefmt="pipe", disable_numparse=True)
        with storage_errors(self._folder):
            self._writer.add_text("validation/translations", table, step)

    def add_attention(self, image: NDArray[np.uint8], step: int) -> None:
        """Write an attention map, an RGB image (height, width, 3)."""
        with storage_errors(self._folder):
            self._writer.add_image("validation/attention", image, step, dataformats="HWC")

    def close(self) -> None:
        """Write what is not written yet, and close the file."""
        with storage_errors(self._folder):
            self._writer.close()


def isolate_persian(text: str, like: str | None = None) -> str:
    """Return `text` in Markdown, isolated as right-to-left if it, or the text `like`, is Persian."""
    escaped = escape_markdown(text)
    # Uses Unicode isolates, since TensorBoard removes the `dir` attribute of HTML.
    return f"\u2067{escaped}\u2069" if is_persian(like or text) else escaped


def show_test_scores(folder: Path, scores: Sequence[Score], *, has_own_set: bool) -> None:
    """Write scores on raw text to a separate event file, at the steps of their checkpoints; an average has no step.

    Args:
        folder: the run's folder of event files; if it does not exist, nothing is written.
        scores: the scores of an evaluation, those of the first test set first.
        has_own_set: whether the first test set is the run's own, which serves to compare runs.
    """
    shown = [score for score in scores if score.normalization == RAW and score.checkpoint.startswith("step-")]
    if not shown or not folder.is_dir():
        return
    from torch.utils.tensorboard import SummaryWriter

    first_set = shown[0].test_set
    with storage_errors(folder), SummaryWriter(str(folder), filename_suffix=TEST_SUFFIX) as writer:
        add: Callable[..., None] = writer.add_scalar
        for score in shown:
            step = int(score.checkpoint.removeprefix("step-"))
            add(f"test_by_set/{score.test_set}/{score.metric}", score.score, step)
            if has_own_set and score.test_set == first_set and score.metric in ("bleu", "chrf"):
                add(f"quality/test_{score.metric}", score.score, step)
