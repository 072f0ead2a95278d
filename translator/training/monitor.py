"""Monitoring of a run: TensorBoard, progress bar and log. The only file that writes TensorBoard events."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from translator.config import Config
from translator.config.resuming import flatten
from translator.data import DataHandler, DataPosition
from translator.evaluation import Score
from translator.evaluation.metrics import RAW
from translator.evaluation.report import Table, isolated, plain
from translator.model.device import matrix_rate
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, RECORD, end_within, progress_bar
from translator.run.storage import storage_errors
from translator.run.text import FONT, shown_pieces
from translator.run.workers import Neighbours, available_cores
from translator.training.advice import how_it_goes
from translator.training.checkpointing import TrainingProgress
from translator.training.distributed import Distributed
from translator.training.meter import Breakdown, Meter, SkippedUpdates, StepFlops, block_norms
from translator.training.step import StepResult, Updater
from translator.training.validation import Validation, Validator

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
"""The layout of the tab Custom Scalars: charts of related curves, such as training and validation loss."""
TEST_SUFFIX: Final = ".test"  # suffix of an event file that an evaluation wrote
_TEST_METRICS: Final = ("bleu", "chrf")  # test scores shown with the settings of a run
_WORTH_MEASURING: Final = 200  # minimum updates of a run for which the machine's matrix rate is measured

_BUSY: Final = 0.7  # CPU share below which other programs are reported

_CELL_INCHES: Final = 0.3
_LARGEST_INCHES: Final = 24.0  # longest side of an attention map


@dataclass
class Observer:
    """Measures every update, and reports to progress bar, log and TensorBoard; use it inside `watching`.

    All ranks call their observers at the same steps, since some numbers are sums over ranks; rank 0 writes.
    """

    config: Config
    run: RunFolder
    data: DataHandler
    updater: Updater
    distributed: Distributed
    progress: TrainingProgress

    def __post_init__(self) -> None:
        self._folder = self.run.tensorboard_folder
        self._main = self.distributed.main
        breakdown, utilisation = Breakdown.of_split(self.data.corpus, "train"), None
        if self.config.training.max_steps >= _WORTH_MEASURING:
            flops, arithmetic = (
                StepFlops(self.config.model, len(self.updater.model.head_weight)),
                self.updater.arithmetic,
            )
            utilisation = flops, matrix_rate(arithmetic.device, arithmetic.precision)
        self.meter = Meter(breakdown, utilisation, self.distributed.sum)
        limit, counts = self.config.training.max_skipped_updates, self.progress.skipped_updates
        self._skipped = SkippedUpdates(self.run.path, limit, breakdown, self.distributed, counts)
        self._last: StepResult | None = None
        self._warned, self._neighbours, self._threads = False, Neighbours(), torch.get_num_threads()
        self.training_loss = math.nan  # of the last report
        self._bar: tqdm[object]
        self._writer: Any = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Show progress and write an event file inside the block."""
        step, settings = self.progress.step, self.config.training
        self._bar = progress_bar(
            description="training", unit="step", total=settings.max_steps, initial=step, silent=not self._main
        )
        if settings.max_minutes is not None:
            end_within(self._bar, 60 * settings.max_minutes - self.progress.seconds)
        with self._bar:
            if not self._main:
                yield
                return
            self._open(step)
            try:
                yield
            finally:
                torch.set_num_threads(self._threads)
                with storage_errors(self._folder):
                    self._show_settings()
                    self._writer.close()

    def _open(self, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        cells = [
            (plain(row.name), f"{row.pairs:,}", f"{row.weight:g}", f"{row.share:.2%}", f"{row.drawn:,}")
            for row in self.data.mixture
        ]
        titles = ("source", "usable pairs", "weight", "share of an epoch", "drawn in an epoch")
        charts = {title: ["Multiline", tags] for title, tags in _CHARTS.items()}
        with storage_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            # TensorBoard ignores the points of earlier files from `purge_step` on.
            self._writer = SummaryWriter(str(self._folder), purge_step=step + 1)
            self._writer.add_custom_scalars({"training": charts})
            self._writer.add_text("data/mixture", Table(titles, cells).markdown(), step)

    def _show_settings(self) -> None:
        from torch.utils.tensorboard.summary import hparams

        # `SummaryWriter.add_hparams` would create a second run. TensorBoard reads the names of the columns here, and
        # their values from the curves.
        named = {f"test/{name}": 0.0 for name in _TEST_METRICS}
        named |= {f"validation/{name}": value for name, value in self.progress.last_validation.items()}
        settings = {
            # Booleans and null as text: TensorBoard would show 1.0000, or nothing.
            key: json.dumps(value) if isinstance(value, bool | list | None) else value
            for key, value in flatten(self.config.model_dump(mode="json")).items()
        }
        for summary in hparams(settings, named):  # type: ignore[no-untyped-call]
            self._writer.file_writer.add_summary(summary)

    def _show(self, curves: Mapping[str, Mapping[str, float]], step: int) -> None:
        for group, numbers in curves.items():
            for name, value in numbers.items():
                self._writer.add_scalar(f"{group}/{name}", value, step)

    def reports_after(self, step: int) -> bool:
        """Return whether a report is due after update number `step`."""
        every = self.config.training
        counts = (every.log_every, every.checkpoint_every, every.validate_every)
        return step == every.max_steps or any(step % count == 0 for count in counts)

    def add(self, result: StepResult, position: DataPosition) -> None:
        """Add the latest update, and report if a report is due; `position` is the data position after it."""
        self._last = result
        self.meter.add(self.progress.step, result)
        self._bar.update()
        if self.reports_after(self.progress.step):
            self.report(position)

    def report(self, position: DataPosition) -> None:
        """Report the updates since the last report, if any; raise RunError if too many in a row were skipped."""
        last, self._last = self._last, None
        if last is None:
            return
        step, progress = self.progress.step, self.progress
        so_far = {"tokens_seen": progress.target_tokens, "minutes": progress.seconds / 60, "epoch": position.epoch}
        report = self.meter.read({"learning_rate": last.learning_rate, **so_far})
        self._skipped.check(report.steps)
        self.training_loss = report.curves["train"]["loss"]
        report.curves["train"]["skipped_updates_in_all"] = self._skipped.counts["skipped"]
        if self.updater.choices.precision == "fp16":
            report.curves["train"]["loss_scale"] = float(self.updater.optimizer.scale)
        spikes = self.progress.loss_spikes.find(report.steps)
        if not self._main:
            return
        if last.block_norms is not None:
            norms = {"gradient_norm": last.block_norms, "weight_norm": block_norms(self.updater.model, gradients=False)}
            for group, of_blocks in norms.items():
                values = torch.stack(list(of_blocks.values())).tolist()
                report.curves[group] = dict(zip(of_blocks, values, strict=True))
        RECORD.info(report.line)
        self._give_way(report.curves["speed"])
        with storage_errors(self._folder):
            self._show(report.curves, step)
            for at, (height, line) in spikes.items():
                RECORD.info(line)
                self._show({"train": {"loss_spike": height}}, at)
                self._writer.add_text("train/loss_spike", plain(line), at)
        loss, speed = report.curves["train"]["loss"], report.curves["speed"]["tokens_per_second"]
        self._bar.set_postfix_str(f"loss {loss:.3f}  {speed:,.0f} tokens/s")

    def _give_way(self, speed: Mapping[str, float]) -> None:
        """Warn, once, if other programs use the processor; in a run timed by minutes, use only free cores.

        Threads that wait for a thread without a core cost most of the speed. The number of threads changes the order of
        sums, so it changes only in runs that are not bit-reproducible anyway: those with a schedule by time.
        """
        taken, share = self._neighbours.cores_taken(), speed.get("cpu_share", 1.0)
        if share < _BUSY and not self._warned:
            self._warned = True
            LOGGER.warning(
                f"training had the processor for only {share:.0%} of the time: other programs compute on this machine. "
                "Stop them, or leave them cores (run.threads is the number of threads that training uses)"
            )
        settings = self.config
        if settings.run.threads or settings.training.schedule_clock == "steps" or self.distributed.world_size > 1:
            return
        threads = max(1, min(self._threads, available_cores() - round(taken)))
        if self.updater.arithmetic.device.type == "cpu" and threads != torch.get_num_threads():
            LOGGER.info("other programs use %.1f cores: the number of training threads is now %d", taken, threads)
            torch.set_num_threads(threads)

    def validated(self, validation: Validation, better: bool, validator: Validator) -> None:
        """Report a validation at the current step, with an attention map of `validator`'s model."""
        if not self._main:
            return
        step = self.progress.step
        rows = [
            (isolated(pair.source), isolated(pair.reference), isolated(pair.hypothesis, like=pair.reference))
            for pair in validation.samples
        ]
        curves = {"validation": validation.scores, "validation_by_length": validation.loss_by_length}
        curves |= {f"validation_by_source/{name}": scores for name, scores in validation.by_source.items()}
        source = validator.drawn_source
        image = None if source is None else attention_figure(*validator.translator.attention(source))
        with storage_errors(self._folder):
            self._show(curves, step)
            if rows:
                table = Table(("source", "reference", "translation"), rows).markdown()
                self._writer.add_text("validation/translations", table, step)
            if image is not None:
                self._writer.add_image("validation/attention", image, step, dataformats="HWC")
        shown = "  ".join(
            f"{name} {value:{'.2f' if value < 1e6 else '.3g'}}" for name, value in curves["validation"].items()
        )
        LOGGER.info("step %d: validation %s%s", step, shown, "  (best so far)" if better else "")
        if self.progress.validation_losses:
            LOGGER.info("step %d: %s", step, how_it_goes(self.progress.validation_losses))


def show_test_scores(folder: Path, scores: Sequence[Score], *, own: bool) -> None:
    """Write scores on raw text to a separate event file, at the steps of their checkpoints; an average has no step.

    Args:
        folder: the run's folder of event files; if it does not exist, nothing is written.
        scores: the scores of an evaluation, those of the first test set first.
        own: whether the first test set is the run's own, which serves to compare runs.
    """
    shown = [score for score in scores if score.normalization == RAW and score.checkpoint.startswith("step-")]
    if not shown or not folder.is_dir():
        return
    from torch.utils.tensorboard import SummaryWriter

    with storage_errors(folder), SummaryWriter(str(folder), filename_suffix=TEST_SUFFIX) as writer:
        add: Callable[..., None] = writer.add_scalar
        for score in shown:
            step = int(score.checkpoint.removeprefix("step-"))
            add(f"test_by_set/{score.test_set}/{score.metric}", score.score, step)
            if own and score.test_set == shown[0].test_set and score.metric in _TEST_METRICS:
                add(f"test/{score.metric}", score.score, step)


def attention_figure(
    source_pieces: Sequence[str], target_pieces: Sequence[str], weights: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.uint8]:
    """Return a heat map of cross-attention `weights` (T, S) as an RGB image: S pieces across, T pieces down."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import; needed for pictures only
    from matplotlib.figure import Figure

    rows, columns = weights.shape
    cell = min(_CELL_INCHES, _LARGEST_INCHES / max(rows, columns))
    # Not pyplot, whose global list would keep every figure in memory.
    figure = Figure(figsize=(cell * columns + 3.0, cell * rows + 2.2), dpi=110, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    image = axes.imshow(weights, vmin=0.0, vmax=1.0, cmap="viridis", aspect="equal")
    font = {"fontfamily": FONT, "fontsize": min(11.0, 0.62 * cell * 72), "parse_math": False}
    axes.set_xticks(range(columns), shown_pieces(source_pieces), rotation=90, **font)
    axes.set_yticks(range(rows), shown_pieces(target_pieces, right_to_left=True), **font)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    figure.colorbar(image, ax=axes, shrink=min(1.0, 3.0 / (cell * rows)), label="attention")
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
