"""Everything that TensorBoard shows; the only file that writes its events."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from translator.changes import flatten
from translator.data import MixtureRow
from translator.evaluation import Score, TranslatedPair
from translator.evaluation.markdown import persian, plain, table
from translator.evaluation.text_variants import RAW
from translator.inference import Translator
from translator.storage import storage_errors
from translator.training.meter import Report
from translator.training.plots import attention_figure
from translator.training.spikes import Spike
from translator.training.validation import Validation

_CHARTS: Final = {
    "loss": ["train/loss", "validation/loss", "train/loss_spike"],
    "perplexity": ["train/perplexity", "validation/perplexity"],
    "BLEU": ["validation/bleu", "test/bleu"],
    "chrF": ["validation/chrf", "test/chrf"],
    "loss by target length": ["loss_by_length/.*", "validation_by_length/.*"],
    "loss by source": ["loss_by_source/.*", "validation_by_source/.*/loss"],
    "gradient norm by block": ["gradient_norm/.*"],
    "weight norm by block": ["weight_norm/.*"],
    "mixture": ["mixture/.*"],
}
"""The layout of the tab Custom Scalars, curves to be seen together: training against validation, that against test."""
TEST_SUFFIX: Final = ".test"
"""How the name of an event file ends that an evaluation wrote: it is no sitting of the training."""
_TEST_METRICS: Final = ("bleu", "chrf")
"""Test scores that stand beside the settings of a run."""


class Monitor:
    """Writes the event file of one sitting; use it as a context manager.

    Args:
        folder: where the event files of the run are; None writes nothing, for all processes of a run but the first.
        first_step: first step of this sitting; points of an earlier sitting from there on were lost with its
            checkpoint, and TensorBoard leaves them out.

    Raises:
        StorageError: (also from every method) the disk is full or the folder cannot be written.
    """

    def __init__(self, folder: Path | None, first_step: int) -> None:
        self._folder = folder
        self._writer: Any = None
        if folder is None:
            return
        from torch.utils.tensorboard import SummaryWriter  # slow to import, and not needed without a folder

        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._writer = SummaryWriter(str(folder), purge_step=first_step)
        charts = {title: ["Multiline", tags] for title, tags in _CHARTS.items()}
        self._write(lambda writer: writer.add_custom_scalars({"training": charts}))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._write(lambda writer: writer.close())

    def _write(self, add: Callable[[Any], None]) -> None:
        """Let `add` write, if this process writes at all."""
        if self._folder is not None:
            with storage_errors(self._folder):
                add(self._writer)

    def scalars(self, group: str, numbers: Mapping[str, float], step: int) -> None:
        """Add a point to the curve `group/name` for each name in `numbers`."""

        def add(writer: Any) -> None:
            for name, value in numbers.items():
                writer.add_scalar(f"{group}/{name}", value, step)

        self._write(add)

    def report(self, report: Report) -> None:
        """Show the numbers of the last steps."""
        self.scalars("train", report.train, report.step)
        self.scalars("speed", report.speed, report.step)
        self.scalars("loss_by_length", report.loss_by_length, report.step)
        self.scalars("loss_by_source", report.loss_by_source, report.step)
        self.scalars("mixture", report.mixture, report.step)

    def norms(self, gradient: Mapping[str, float], weight: Mapping[str, float], step: int) -> None:
        """Show the norms of gradient and weights, block by block."""
        self.scalars("gradient_norm", gradient, step)
        self.scalars("weight_norm", weight, step)

    def spikes(self, spikes: Iterable[Spike]) -> None:
        """Mark steps whose loss was far above the others."""

        def add(writer: Any) -> None:
            for spike in spikes:
                writer.add_scalar("train/loss_spike", spike.loss, spike.step)
                writer.add_text("train/loss_spike", plain(spike.line), spike.step)

        self._write(add)

    def validation(self, validation: Validation, step: int) -> None:
        """Show losses, scores and sample translations."""
        self.scalars("validation", validation.scores, step)
        self.scalars("validation_by_length", validation.loss_by_length, step)
        for source, scores in validation.by_source.items():
            named = {f"{source}/{metric}": value for metric, value in scores.items()}
            self.scalars("validation_by_source", named, step)
        self.translations(validation.samples, step)

    def translations(self, samples: Iterable[TranslatedPair], step: int) -> None:
        """Show sample translations as a table."""
        rows = [(plain(pair.source), persian(pair.reference), persian(pair.hypothesis)) for pair in samples]
        if rows:
            text = table(("source", "reference", "translation"), rows)
            self._write(lambda writer: writer.add_text("validation/translations", text, step))

    def attention(self, translator: Translator, source: str, step: int) -> None:
        """Show where the model looks while it translates `source`."""

        def add(writer: Any) -> None:
            image = attention_figure(*translator.attention(source))
            writer.add_image("validation/attention", image, step, dataformats="HWC")

        self._write(add)

    def mixture(self, rows: Iterable[MixtureRow], step: int) -> None:
        """Show what each source gives to an epoch, as a table."""
        cells = [
            (plain(row.name), f"{row.pairs:,}", f"{row.weight:g}", f"{row.share:.2%}", f"{row.drawn:,}") for row in rows
        ]
        text = table(("source", "usable pairs", "weight", "share of an epoch", "drawn in an epoch"), cells)
        self._write(lambda writer: writer.add_text("data/mixture", text, step))

    def hparams(self, config: dict[str, Any], metrics: Mapping[str, float]) -> None:
        """Show the settings of the run beside its last validation and the test scores that `show_test_scores` adds.

        Args:
            config: nested sections, as JSON values.
            metrics: names and values of the curves in the group `validation`.
        """
        # Written here by hand: `SummaryWriter.add_hparams` would put them into a second run beside this one.
        # TensorBoard takes from here which curves are columns, and the numbers from the curves: these are to come.
        named = {f"test/{name}": 0.0 for name in _TEST_METRICS}
        named |= {f"validation/{name}": value for name, value in metrics.items()}
        settings = {
            # A truth value or null as text: TensorBoard would show 1.0000, or nothing.
            key: json.dumps(value) if isinstance(value, bool | list | None) else value
            for key, value in flatten(config).items()
        }

        def add(writer: Any) -> None:
            from torch.utils.tensorboard.summary import hparams

            for summary in hparams(settings, named):  # type: ignore[no-untyped-call]
                writer.file_writer.add_summary(summary)

        self._write(add)


def show_test_scores(folder: Path, scores: Sequence[Score], *, own: bool) -> None:
    """Show scores on raw text as points of the steps of their checkpoints, in an event file of their own.

    A mean of several checkpoints has no step, and is left out.

    Args:
        folder: where the event files of the run are; where there is no such folder, nothing is written.
        scores: as an evaluation returns them, those of the first test set first.
        own: whether the first test set is the run's own, by which runs are compared.

    Raises:
        StorageError: the disk is full or the folder cannot be written.
    """
    found = [(re.fullmatch(r"step-(\d+)", score.checkpoint), score) for score in scores if score.normalization == RAW]
    shown = [(int(name[1]), score) for name, score in found if name]
    if not shown or not folder.is_dir():
        return
    from torch.utils.tensorboard import SummaryWriter

    first = shown[0][1].test_set
    with storage_errors(folder), SummaryWriter(str(folder), filename_suffix=TEST_SUFFIX) as writer:
        for step, score in shown:
            add: Callable[..., None] = writer.add_scalar
            add(f"test_by_set/{score.test_set}/{score.metric}", score.score, step)
            if own and score.test_set == first and score.metric in _TEST_METRICS:
                add(f"test/{score.metric}", score.score, step)
