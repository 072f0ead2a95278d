"""The event files of a run, which TensorBoard reads.

TensorBoard sorts groups of curves by name and opens the first two: `loss` and `quality`, so no other comes before them.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tabulate import tabulate

from translator.evaluation import Score, TranslatedPair
from translator.evaluation.tables import escape_markdown
from translator.evaluation.text_variants import RAW
from translator.run.files import storage_errors
from translator.run.text import is_persian

TEST_SUFFIX: Final = ".test"  # suffix of an event file that an evaluation wrote
VALIDATION_TAGS: Final = {
    "loss": "loss/validation",
    "perplexity": "validation/perplexity",
    "bleu": "quality/bleu",
    "chrf": "quality/chrf",
}
"""The curve of each score of a validation."""


@contextlib.contextmanager
def event_file(folder: Path, step: int) -> Iterator[Any]:
    """Yield torch's `SummaryWriter` for a new file in `folder`, for the steps after `step`, and close it at the end.

    Points after `step` in earlier files disappear: a run that went on from `step` makes them anew.

    Raises StorageError: the file cannot be opened or closed.
    """
    from torch.utils.tensorboard import SummaryWriter  # slow to import

    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # TensorBoard ignores the points of earlier files from `purge_step` on.
        writer: Any = SummaryWriter(str(folder), purge_step=step + 1)
    try:
        yield writer
    finally:
        with storage_errors(folder):
            writer.close()


def translations_table(pairs: Sequence[TranslatedPair]) -> str:
    """Return a table of sample translations in Markdown."""
    cells = []
    for pair in pairs:
        translation = isolate_persian(pair.hypothesis, like=pair.reference)
        cells.append((isolate_persian(pair.source), isolate_persian(pair.reference), translation))
    return tabulate(cells, ("source", "reference", "translation"), tablefmt="pipe", disable_numparse=True)


def isolate_persian(text: str, like: str | None = None) -> str:
    """Return `text` in Markdown, isolated as right-to-left if it, or the text `like`, is Persian."""
    escaped = escape_markdown(text)
    # Uses Unicode isolates, since TensorBoard removes the `dir` attribute of HTML.
    return f"\u2067{escaped}\u2069" if is_persian(like or text) else escaped


def show_test_scores(folder: Path, scores: Sequence[Score]) -> None:
    """Write scores on raw text to a separate event file, at the steps of their checkpoints.

    The scores of an average of checkpoints, which has no step, are left out.

    Args:
        folder: the run's folder of event files; if it does not exist, nothing is written.
        scores: the scores of an evaluation; the first test set is the run's own, by which runs are compared.
    """
    shown = [score for score in scores if score.normalization == RAW and score.checkpoint.startswith("step-")]
    if not shown or not folder.is_dir():
        return
    from torch.utils.tensorboard import SummaryWriter

    own_set = shown[0].test_set
    with storage_errors(folder), SummaryWriter(str(folder), filename_suffix=TEST_SUFFIX) as writer:
        add: Callable[..., None] = writer.add_scalar  # it has no types
        for score in shown:
            step = int(score.checkpoint.removeprefix("step-"))
            add(f"test_by_set/{score.test_set}/{score.metric}", score.score, step)
            if score.test_set == own_set and score.metric in ("bleu", "chrf"):
                add(f"quality/test_{score.metric}", score.score, step)
