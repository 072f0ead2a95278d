"""From prepared text to subword models, kept under a fingerprint of all that made them."""

import hashlib
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import sentencepiece

from translator.config import SubwordConfig
from translator.corpus.prepare import PreparedCorpus, Side
from translator.prepared import fingerprint_of, prepared_folder
from translator.progress import progress_bar
from translator.storage import new_folder, write_bytes, write_json
from translator.subword.pair import JOINT_FILE, RECORD_FILE, SOURCE_FILE, TARGET_FILE, SubwordPair
from translator.subword.training import train_model, uses_byte_fallback
from translator.subword.training_sample import draw_lines
from translator.workers import map_in_order

_FORMAT: Final = 2
"""Part of the fingerprint: raise it when training changes, so that older folders are not taken for new ones."""
_WORTH_WHILE: Final = 50_000
"""Sentences of a side from which on a unigram model takes several times as long as starting a process for it; the other
kinds are trained in less than that."""


class _Task(NamedTuple):
    """One model to train."""

    file: str
    sentences: dict[Side, int]
    """How many to draw from each side, at most."""


def prepare_subword(
    config: SubwordConfig, corpus: PreparedCorpus, prepared_directory: Path, workers: int = 1
) -> tuple[SubwordPair, Path]:
    """Train the models on the training split, or load those trained before from the same text with the same settings.

    Args:
        config: the same models serve with and without `sampling`.
        corpus: its training split is drawn from, at most `max_training_sentences` lines for each model.
        prepared_directory: where prepared data are kept.
        workers: processes at most; the models do not depend on it.

    Returns:
        The models, and their folder `<prepared_directory>/subword-<16 hex>`.

    Raises:
        SubwordError: the text does not allow the settings, or the folder is damaged.
        StorageError: the folder cannot be written, or the prepared text is damaged.
    """
    settings = config.model_dump(mode="json", exclude={"sampling"})
    made_from = {
        "format": _FORMAT,
        "sentencepiece": sentencepiece.__version__,
        "corpus": corpus.fingerprint,
        "settings": {**settings, "byte_fallback": uses_byte_fallback(config)},
    }
    folder = prepared_folder(prepared_directory, "subword", fingerprint_of(made_from))
    if not folder.exists():
        with new_folder(folder) as beside:
            tasks = _tasks(config)
            processes = min(workers, len(tasks)) if _is_long_work(config, corpus) else 1
            models = progress_bar(
                map_in_order(partial(_training, config, corpus), tasks, processes),
                description="Training subword models",
                total=len(tasks),
                unit=" models",
            )
            sha256 = {}
            for task, content in zip(tasks, models, strict=True):
                write_bytes(beside / task.file, content)
                sha256[task.file] = hashlib.sha256(content).hexdigest()
            write_json(beside / RECORD_FILE, {**made_from, "sha256": sha256})
    return SubwordPair.load(folder), folder


def _is_long_work(config: SubwordConfig, corpus: PreparedCorpus) -> bool:
    """Return whether training is worth a process for each model."""
    pairs = sum(corpus.count("train", name) for name in corpus.names("train"))
    return config.model_type == "unigram" and min(pairs, config.max_training_sentences) >= _WORTH_WHILE


def _tasks(config: SubwordConfig) -> list[_Task]:
    """Return the models to train."""
    limit = config.max_training_sentences
    if config.joint:
        return [_Task(JOINT_FILE, {"en": limit - limit // 2, "fa": limit // 2})]
    return [_Task(SOURCE_FILE, {"en": limit}), _Task(TARGET_FILE, {"fa": limit})]


def _training(config: SubwordConfig, corpus: PreparedCorpus) -> Callable[[_Task], bytes]:
    """Return the function that trains one model and gives its bytes, for this process or another."""

    def train(task: _Task) -> bytes:
        drawn = (draw_lines(corpus, "train", side, limit, config.seed) for side, limit in task.sentences.items())
        return train_model(itertools.chain.from_iterable(drawn), config, Path(task.file).stem)

    return train
