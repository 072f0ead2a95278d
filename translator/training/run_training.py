"""A whole training run, as the command `train` makes it: preparation, training, evaluation."""

import contextlib
import logging
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from translator.checkpoint.state import find_checkpoint
from translator.config import Config
from translator.config.resuming import Changes, shared_settings
from translator.corpus.held_out import write_held_out
from translator.data import DataHandler
from translator.data.preparation_report import preparation_report, warn_of_few_pairs
from translator.evaluation import (
    Score,
    System,
    TranslatedPair,
    evaluate_systems,
    evaluated_search,
    saved_scores,
    search_label,
)
from translator.evaluation.confidence_fit import keep_confidence
from translator.evaluation.test_sets import own_texts
from translator.run.files import hold_folder
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, log_to_file
from translator.run.provenance import describe_environment, package_versions
from translator.run.signals import StopRequest
from translator.speed.device import choose_device, model_must_fit
from translator.speed.gpu_support import caution_about_gpu
from translator.training.distributed import Distributed
from translator.training.learner import build_learner
from translator.training.monitoring.event_file import show_test_scores
from translator.training.precision import Choices, set_up
from translator.training.progress import TrainingProgress
from translator.training.trainer import Trainer, initial_state
from translator.training.warm_start import initial_checkpoint


@dataclass(frozen=True)
class TrainingOutcome:
    """The result of `train_run`."""

    run: RunFolder
    progress: TrainingProgress
    reason: str  # why training ended
    was_finished: bool  # whether an earlier call had finished the training
    main: bool  # true on rank 0
    scores: list[Score]  # empty on the other ranks
    samples: list[TranslatedPair]  # some translated test sentences; empty if this call did not evaluate


def train_run(config: Config, stop: StopRequest, allow_changed: bool = False) -> TrainingOutcome:
    """Train the run of `config` to its end, evaluate it, and return the outcome; resume an interrupted run.

    Every rank calls this; rank 0 writes. `allow_changed` permits resuming with settings that change the result.

    Raises:
        TranslatorError: an error in the configuration, the corpus or the run folder; or the ranks differ in settings.
        Interrupted: a stop signal arrived; a later call resumes.
    """
    # Report a missing GPU and a missing checkpoint before the preparation, which takes long.
    device = choose_device(config.run.device)
    run = RunFolder(Path(config.run.directory))
    if config.training.initialize_from is not None and not run.has_checkpoint:
        initial_checkpoint(config)
    with Distributed.join(device) as distributed, contextlib.ExitStack() as stack:
        # The ranks must agree in the recipe, and in the versions of this program and its libraries.
        versions = {f"version of {package}": version for package, version in package_versions().items()}
        distributed.check_equal({**shared_settings(config), **versions})

        # Rank 0 checks the run folder, which it then holds alone; the other ranks log errors only.
        changes: Changes = ()
        if distributed.main:
            caution_about_gpu(config.run.device, device)
            changes = run.check(config, allow_changed)
            saved_scores(run.evaluation_folder)  # report a damaged file of scores now, not after the training
            stack.enter_context(hold_folder(run.path))
        else:
            LOGGER.setLevel(logging.ERROR)

        # Prepare the data before the run folder has a log: if the preparation fails, a new folder has no visible file.
        data = _prepared_data(config, distributed)
        if distributed.main:
            stack.enter_context(log_to_file(run.log_file))
            _record_preparation(config, run, data, changes)
        distributed.barrier()
        return _train_and_evaluate(config, run, data, changes, distributed, stop)


def _prepared_data(config: Config, distributed: Distributed) -> DataHandler:
    """Return the prepared data; the first rank of each machine prepares them, and the others find them."""
    if distributed.local_rank == 0:
        data = DataHandler(config)
    distributed.barrier()
    if distributed.local_rank > 0:
        data = DataHandler(config)
    return data


def _train_and_evaluate(
    config: Config, run: RunFolder, data: DataHandler, changes: Changes, distributed: Distributed, stop: StopRequest
) -> TrainingOutcome:
    """Train on the prepared data, evaluate, and return the outcome.

    `changes` are the settings that changed since the last start, to be recorded.
    """
    # 1. The trainer, which resumes from the last checkpoint.
    device = distributed.device(choose_device(config.run.device))
    choices = set_up(config, device, distributed)
    distributed.check_equal({"training.precision, as chosen": choices.precision})
    vocabularies = (data.subword.source.vocabulary_size, data.subword.target.vocabulary_size)
    with model_must_fit("choose another run.device, or a smaller model in a new run (model.d_model)"):
        learner = build_learner(config, vocabularies, device, choices, distributed)
        state = initial_state(config, run, data, learner, distributed)
        trainer = Trainer(state, learner, choices.precision, distributed, stop)
    was_finished = trainer.finished is not None

    # 2. Write to the run folder only now: in a resumed run, settings and subword models must first fit the checkpoint.
    if distributed.main:
        run.write(config)
        run.keep_subword(data.subword_folder, data.normalizer.rules.to_json())
        if not was_finished:
            _record_restart(run, changes, choices, distributed.world_size)

    # 3. Training, and on rank 0 the evaluation.
    if not was_finished:
        trainer.train()
    reason = trainer.finished or ""  # never empty: `train` raises if it stops before a limit
    scores, samples = _evaluate(config, run, trainer.progress, reason) if distributed.main else ([], [])

    # 4. Learn from the validation text how to turn the model's probabilities into a confidence.
    if distributed.main:
        pairs: list[tuple[str, str]] = []
        for name in data.corpus.names("validation"):
            pairs += data.corpus.pairs("validation", name)
        keep_confidence(run, pairs)
    return TrainingOutcome(
        run=run,
        progress=trainer.progress,
        reason=reason,
        was_finished=was_finished,
        main=distributed.main,
        scores=scores,
        samples=samples,
    )


def _record_preparation(config: Config, run: RunFolder, data: DataHandler, changes: Changes) -> None:
    """Write what the preparation found to run folder and log."""
    # The folder: recipe and held-out text. In a resumed run they stay as they were, but missing text is written again.
    if not run.has_checkpoint:
        run.write(config)
    if not run.has_checkpoint or not run.held_out_folder.is_dir():
        write_held_out(run.held_out_folder, "validation", data.held_out("validation"))
        write_held_out(run.held_out_folder, "test", data.held_out("test"))

    # What the preparation counted, as a table in the log, and as a page.
    report = preparation_report(config, data)
    LOGGER.info("%s\n", report.tables())
    report.write(run.preparation_folder)

    # What a user may not expect: too little text for a new model, and settings that an earlier start did not have.
    if not run.has_checkpoint and config.training.initialize_from is None:
        warn_of_few_pairs(data.corpus)
    for change in changes:
        LOGGER.info("changed since the last start of this run: %s", change)


def _record_restart(run: RunFolder, changes: Changes, choices: Choices, processes: int) -> None:
    """Write what may change the bits of a result to run.json and log."""
    environment = {
        **describe_environment(),
        "choices": asdict(choices),
        "processes": processes,
        "threads": torch.get_num_threads(),
    }
    LOGGER.info(choices.summary(processes))
    run.note_session(environment, changes)


def _evaluate(
    config: Config, run: RunFolder, progress: TrainingProgress, reason: str
) -> tuple[list[Score], list[TranslatedPair]]:
    """Return the scores of the best checkpoint, saved or new, and samples of new translations.

    `reason` says why training ended, for the log.
    """
    # 1. The scores that an earlier call has saved, for the same checkpoint and the same settings of the search.
    checkpoint = find_checkpoint(run.checkpoints_folder, "best").name
    if progress.best_score is None:
        LOGGER.warning("no validation has a finite %s, so `best` is %s", config.training.best_metric, checkpoint)
    label_of_search = search_label(evaluated_search(run))
    scores = [
        score
        for score in saved_scores(run.evaluation_folder)
        if score.checkpoint == checkpoint and score.search == label_of_search
    ]
    # 2. They are enough if they cover all test sets of the run. A user may have added scores on other texts.
    test_sets = own_texts(run, "test").keys()
    if scores and test_sets <= {score.test_set for score in scores}:
        return scores, []

    # 3. Else evaluate.
    LOGGER.info("training is over: %s; evaluating the best checkpoint", reason)
    evaluation = evaluate_systems([System((run,), checkpoint)], own_recipe=True)
    show_test_scores(run.tensorboard_folder, evaluation.scores)
    return evaluation.scores, evaluation.samples
