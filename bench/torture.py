"""Training killed and stopped: each run must end with the same bits as an undisturbed one."""

import signal
from collections.abc import Iterator
from typing import Final

from bench.kills import Case, make_inputs, strike_all
from bench.options import Options

TRAIN: Final = (
    "train --config {work}/en-fa.yaml --set run.directory={work}/run corpus.prepared_directory={work}/prepared "
    "model.dropout=0.1 training.max_steps=72 training.accumulation_steps=2 training.log_every=3 "
    "training.validate_every=12 training.validation_sentences=8 training.checkpoint_every=5 "
    "training.keep_checkpoints=1 training.early_stopping=6 search.method=greedy "
)
"""A training with dropout, micro-batches, validation, checkpoints and early stopping, in seconds."""
ALL_THAT_DRAWS: Final = (
    "subword.model_type=unigram subword.vocabulary_size=40 training.augmentation.typos=0.3 "
    "training.augmentation.final_punctuation=0.3 training.r_drop=1.0 training.ema_decay=0.9"
)
"""Everything that draws random numbers, and what follows the weights."""
OUTPUTS: Final = ("run",)
SAVING: Final = "run/checkpoints/.step-*"
CASES: Final = (
    Case("plain", TRAIN, OUTPUTS, saving=SAVING),
    Case("all", TRAIN + ALL_THAT_DRAWS, OUTPUTS, saving=SAVING),
    Case("stop", TRAIN, OUTPUTS, saving=SAVING, blows=(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)),
    Case("processes", TRAIN + "training.processes=2", OUTPUTS, saving=SAVING, has_ranks=True),
)


def bench(options: Options) -> Iterator[str]:
    """Kill each training and yield a line on it; errors as `strike_all`."""
    yield from strike_all("torture", CASES, make_inputs(), options)
