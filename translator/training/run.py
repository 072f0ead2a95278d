"""A whole training run: prepare the data, train or go on training, score the best checkpoint."""

import logging
from dataclasses import dataclass
from pathlib import Path

from translator.checkpoint import find_checkpoint
from translator.config import Config
from translator.corpus import NORMALIZER_VERSION, format_report
from translator.data import DataHandler, preparation_report, write_preparation_report
from translator.device import choose_device
from translator.errors import RunError
from translator.evaluation import Score, TranslatedPair, evaluate_run, saved_scores, search_label
from translator.log import log_to_file
from translator.provenance import describe_environment
from translator.run_folder import RunFolder
from translator.signals import StopRequest
from translator.storage import exclusive
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
    saved_scores(run)  # a damaged file is better known now than after the training
    with exclusive(run.path) as ours:
        if not ours:
            raise RunError(f"another process is training in {run.path}; wait for it, stop it, or set run.directory")
        return _train_and_evaluate(config, run, stop)


def _train_and_evaluate(config: Config, run: RunFolder, stop: StopRequest) -> TrainingOutcome:
    """Do the work of `train_run` in a run folder that is ours."""
    data = DataHandler(config)
    run.write(config)
    with log_to_file(run.log_file):
        LOGGER.info("%s\n\n%s\n", format_report(data.corpus.report), data.format_report())
        write_preparation_report(preparation_report(data, config), run.preparation_folder)
        trainer = Trainer(config, run, data, stop)
        run.keep_subword(data.subword_folder)  # not before a checkpoint has had its say on them
        was_finished = trainer.finished is not None
        if not was_finished:
            run.note_sitting({**describe_environment(), "normalizer_version": NORMALIZER_VERSION})
            trainer.train()
        reason = trainer.finished or ""
        checkpoint = find_checkpoint(run.checkpoints_folder, "best").name
        made = checkpoint, search_label(config.search)
        scores = [score for score in saved_scores(run) if (score.checkpoint, score.search) == made]
        samples: list[TranslatedPair] = []
        if not scores:
            LOGGER.info("training is over: %s; evaluating the best checkpoint", reason)
            evaluation = evaluate_run(run)
            scores, samples = evaluation.scores, evaluation.samples
    return TrainingOutcome(run, trainer.progress, reason, was_finished, scores, samples)
