"""A whole training run: prepare the data, train or go on training, score the best checkpoint."""

import logging
from dataclasses import dataclass
from pathlib import Path

from translator.config import Config
from translator.data import DataHandler
from translator.device import choose_device
from translator.evaluation import Score, TranslatedPair, evaluate_run, saved_scores
from translator.log import log_to_file
from translator.provenance import describe_environment
from translator.run_folder import RunFolder
from translator.signals import StopRequest
from translator.training.progress import TrainingProgress
from translator.training.trainer import Trainer

LOGGER = logging.getLogger("translator")


@dataclass(frozen=True)
class TrainingOutcome:
    """What a call of `train_run` came to."""

    run: RunFolder
    progress: TrainingProgress
    reason: str
    """Why training ended."""
    was_finished: bool
    """Whether there was nothing left to train."""
    scores: list[Score]
    samples: list[TranslatedPair]
    """A few test sentences with reference and hypothesis; empty when nothing was evaluated now."""


def train_run(config: Config, stop: StopRequest) -> TrainingOutcome:
    """Carry the run of `config` to its end and evaluate it; go on where an earlier call was stopped.

    Raises:
        TranslatorError: a mistake in the configuration, the corpus or the run folder.
        Interrupted: SIGINT or SIGTERM arrived; a later call goes on.
    """
    choose_device(config.run.device)  # a missing GPU is better known before the preparation
    run = RunFolder(Path(config.run.directory))
    run.check(config)
    data = DataHandler(config)
    run.write(config, describe_environment())
    run.keep_subword(data.subword_folder)
    with log_to_file(run.log_file):
        trainer = Trainer(config, run, data, stop)
        was_finished = trainer.finished is not None
        progress = trainer.progress if was_finished else trainer.train()
        reason = trainer.finished or ""
        scores = saved_scores(run)
        samples: list[TranslatedPair] = []
        if not was_finished or not scores:
            LOGGER.info("training is over: %s; evaluating the best checkpoint", reason)
            evaluation = evaluate_run(run)
            scores, samples = evaluation.scores, evaluation.samples
    return TrainingOutcome(run, progress, reason, was_finished, scores, samples)
