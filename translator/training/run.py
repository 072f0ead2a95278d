"""A whole training run: prepare the data, train or go on training, score the best checkpoint."""

import contextlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from translator.changes import NO_CHANGES, Changes
from translator.checkpoint import find_checkpoint
from translator.config import Config
from translator.corpus import NORMALIZER_VERSION, format_report
from translator.data import DataHandler, preparation_report, write_preparation_report
from translator.device import choose_device
from translator.evaluation import Score, TranslatedPair, evaluate_run, saved_scores, search_label
from translator.lock import hold_folder
from translator.log import log_to_file
from translator.provenance import describe_environment
from translator.run_folder import RunFolder
from translator.signals import StopRequest
from translator.training.choices import Choices, set_up
from translator.training.engine import Engine
from translator.training.monitor import show_test_scores
from translator.training.progress import TrainingProgress
from translator.training.ranks import Ranks
from translator.training.schedule import learning_rate
from translator.training.trainer import Trainer
from translator.training.warm_start import initial_checkpoint

LOGGER = logging.getLogger("translator")
_WORTH_SAYING: Final = 0.05
"""Share of the peak from which on the learning rate at the end of a training is a loss."""


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
    tells: bool
    """Whether this is the process that tells of the run."""
    samples: list[TranslatedPair]
    """A few test sentences with reference and hypothesis; empty when nothing was evaluated now."""


def train_run(config: Config, stop: StopRequest, allow_changed: bool = False) -> TrainingOutcome:
    """Carry the run of `config` to its end and evaluate it; go on where an earlier call was stopped.

    Where torch's launcher started several processes, each calls this; the first one writes and tells.

    Args:
        config: the recipe.
        stop: tells of stop signals.
        allow_changed: go on with settings that make the run end otherwise than it would have.

    Raises:
        TranslatorError: a mistake in the configuration, the corpus or the run folder.
        Interrupted: SIGINT, SIGTERM or SIGHUP arrived; a later call goes on.
    """
    chosen = choose_device(config.run.device)  # a missing GPU is better known before the preparation
    run = RunFolder(Path(config.run.directory))
    if config.training.initialize_from is not None and not run.has_checkpoint:
        initial_checkpoint(config)  # so is a checkpoint that is not there
    with Ranks.join(chosen) as ranks, contextlib.ExitStack() as stack:
        changes = NO_CHANGES
        if not ranks.main:
            LOGGER.setLevel(logging.ERROR)  # one voice is enough
        if ranks.main:
            run.check(config, allow_changed)  # what cannot be is better said before another process is spoken of
            saved_scores(run)
            stack.enter_context(hold_folder(run.path))
            changes = run.check(config, allow_changed)  # whoever held the folder may have changed it
        return _train_and_evaluate(config, run, changes, ranks, stop)


def _train_and_evaluate(
    config: Config, run: RunFolder, changes: Changes, ranks: Ranks, stop: StopRequest
) -> TrainingOutcome:
    """Do the work of `train_run` in a run folder that is ours."""
    with ranks.first_on_each_machine():
        data = DataHandler(config)
    with log_to_file(run.log_file) if ranks.main else contextlib.nullcontext():
        if ranks.main:
            _note_preparation(config, run, data, changes)
        ranks.barrier()
        device = ranks.device(choose_device(config.run.device))
        choices = set_up(config, device, ranks)
        vocabularies = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
        engine = Engine(config, vocabularies, device, choices, ranks)
        trainer = Trainer(config, run, data, engine, ranks, stop)
        if ranks.main:
            run.write(config)  # those of a run that goes on, once its checkpoint has agreed
        was_finished = trainer.finished is not None
        if ranks.main:
            run.keep_subword(data.subword_folder)  # not before a checkpoint has had its say on them
            if not was_finished:
                _note_sitting(run, changes, choices, ranks)
                for line in _cautions(config):
                    LOGGER.warning(line)
        if not was_finished:
            trainer.train()
        reason = trainer.finished or ""
        if not ranks.main:
            return TrainingOutcome(run, trainer.progress, reason, was_finished, [], False, [])
        if not was_finished and (line := _rate_left(config, trainer.progress)):
            LOGGER.warning(line)
        scores, samples = _evaluate(config, run, reason)
    return TrainingOutcome(run, trainer.progress, reason, was_finished, scores, True, samples)


def _note_preparation(config: Config, run: RunFolder, data: DataHandler, changes: Changes) -> None:
    """Write down the data of this sitting, and the settings of a new run."""
    if not run.has_checkpoint:
        run.write(config)
    LOGGER.info("%s\n\n%s\n", format_report(data.corpus.report), data.format_report())
    write_preparation_report(preparation_report(data, config), run.preparation_folder)
    for line in changes.lines:
        LOGGER.info(line)


def _note_sitting(run: RunFolder, changes: Changes, choices: Choices, ranks: Ranks) -> None:
    """Write down, and say, what this sitting runs on and how."""
    environment = {**describe_environment(), "normalizer_version": NORMALIZER_VERSION}
    environment |= {"choices": choices.to_json(), "processes": ranks.world, "threads": torch.get_num_threads()}
    for line in (*run.moved(environment), *choices.lines()):
        LOGGER.info(line)
    run.note_sitting(environment, changes)


def _cautions(config: Config) -> list[str]:
    """Return a line for what the recipe asks for and will not get."""
    settings, model = config.training, config.model
    dropped = model.dropout or model.attention_dropout or model.feed_forward_dropout
    if not (dropped or settings.r_drop) or settings.dropout_from <= settings.max_steps:
        return []
    too = " and no R-Drop" if settings.r_drop else ""
    return [
        f"caution: training.dropout_from is {settings.dropout_from:,} and training.max_steps {settings.max_steps:,}: "
        f"there will be no dropout{too}"
    ]


def _rate_left(config: Config, progress: TrainingProgress) -> str:
    """Return what to say of a training whose minutes were over long before its cosine; nothing of any other."""
    settings = config.training
    if settings.schedule != "cosine" or settings.schedule_clock == "minutes" or settings.max_minutes is None:
        return ""
    left = learning_rate(progress.step, settings) / settings.learning_rate
    if progress.seconds < 60 * settings.max_minutes or left < _WORTH_SAYING:
        return ""
    return (
        f"caution: training.max_minutes were over at step {progress.step:,} of {settings.max_steps:,}, with the "
        f"learning rate still at {left:.0%} of its peak, which costs quality; with a larger training.max_minutes this "
        "run goes on to the end of its cosine, and with training.schedule_clock=minutes a new one ends it in time"
    )


def _evaluate(config: Config, run: RunFolder, reason: str) -> tuple[list[Score], list[TranslatedPair]]:
    """Return the scores of the best checkpoint, and samples if they had to be computed."""
    checkpoint = find_checkpoint(run.checkpoints_folder, "best").name
    made = checkpoint, search_label(config.search)
    scores = [score for score in saved_scores(run) if (score.checkpoint, score.search) == made]
    if scores:
        return scores, []
    LOGGER.info("training is over: %s; evaluating the best checkpoint", reason)
    model = config.evaluation.comet_model
    evaluation = evaluate_run(run, overrides=[] if model is None else [f"evaluation.comet_model={model}"])
    show_test_scores(run.tensorboard_folder, evaluation.scores, own=True)
    return evaluation.scores, evaluation.samples
