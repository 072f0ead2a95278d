"""Everything that TensorBoard shows; the only file that knows TensorBoard."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from translator.evaluation import TranslatedPair
from translator.evaluation.markdown import persian, plain, table
from translator.inference import Translator
from translator.run_folder import flatten
from translator.storage import storage_errors
from translator.training.plots import attention_figure


class Monitor:
    """Writes the event file of one sitting; use it as a context manager.

    Args:
        folder: where the event files of the run are.
        first_step: first step of this sitting; points of an earlier sitting from there on were lost with its
            checkpoint, and TensorBoard leaves them out.

    Raises:
        StorageError: (also from every method) the disk is full or the folder cannot be written.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import, and only training needs it

        self._folder = folder
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._writer = SummaryWriter(str(folder), purge_step=first_step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with storage_errors(self._folder):
            self._writer.close()

    def scalars(self, group: str, numbers: Mapping[str, float], step: int) -> None:
        """Add a point to the curve `group/name` for each name in `numbers`."""
        with storage_errors(self._folder):
            for name, value in numbers.items():
                self._writer.add_scalar(f"{group}/{name}", value, step)

    def translations(self, samples: Iterable[TranslatedPair], step: int) -> None:
        """Show sample translations as a table."""
        rows = [(plain(pair.source), persian(pair.reference), persian(pair.hypothesis)) for pair in samples]
        if rows:
            with storage_errors(self._folder):
                self._writer.add_text(
                    "validation/translations", table(("source", "reference", "translation"), rows), step
                )

    def attention(self, translator: Translator, source: str, step: int) -> None:
        """Show where the model looks while it translates `source`."""
        image = attention_figure(*translator.attention(source))
        with storage_errors(self._folder):
            self._writer.add_image("validation/attention", image, step, dataformats="HWC")

    def hparams(self, config: dict[str, Any], metrics: Mapping[str, float]) -> None:
        """Show the settings of the run beside its last validation.

        Args:
            config: nested sections, as JSON values.
            metrics: names and values of the curves in the group `validation`.
        """
        from torch.utils.tensorboard.summary import hparams

        # Written here by hand: `SummaryWriter.add_hparams` would put them into a second run beside this one.
        named = {f"validation/{name}": value for name, value in metrics.items()}
        file_writer: Any = self._writer.file_writer
        settings = {
            # A truth value or null as text: TensorBoard would show 1.0000, or nothing.
            key: json.dumps(value) if isinstance(value, bool | list | None) else value
            for key, value in flatten(config).items()
        }
        with storage_errors(self._folder):
            for summary in hparams(settings, named):  # type: ignore[no-untyped-call]
                file_writer.add_summary(summary)
