"""The subword models of a prepared corpus: trained once, then reused."""

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sentencepiece
from tqdm import tqdm

from translator.config import SubwordConfig
from translator.run.folder import RunFolder
from translator.run.logging import progress_bar
from translator.run.prepared_folder import prepared_folder
from translator.run.storage import sha256_of_json, write_bytes, write_json
from translator.run.work_folders import new_folder
from translator.run.workers import map_in_order
from translator.subword.files import RECORD_FILE, WORDS_FILE, read_file
from translator.subword.model import SubwordModel
from translator.subword.pair import SubwordPair
from translator.subword.training import (
    TrainingText,
    VocabularySizeError,
    training_texts,
    uses_byte_fallback,
)
from translator.subword.vocabulary_size import size_error
from translator.subword.word_counts import count_words, read_word_counts, write_word_counts

if TYPE_CHECKING:  # not for loading a model, which should be fast
    from translator.corpus.prepared_corpus import PreparedCorpus, TextBlock

    _Item = TrainingText | TextBlock

_FORMAT: Final = 4  # part of the fingerprint; increased when training changes
_LINES_TO_COUNT: Final = 1 << 16  # whose words one process counts at once


def prepare_subword(
    config: SubwordConfig, corpus: "PreparedCorpus", prepared_directory: Path, workers: int = 1
) -> tuple[SubwordPair, Path]:
    """Return the models of a training split and their folder `<prepared_directory>/subword-<16 hex>`.

    They are trained, or loaded if they exist for the same text and settings. Each is trained on at most
    `max_training_sentences` drawn lines.

    Args:
        config: the settings. With `models_from`, the models of that run are used, and the words of this text are added
            to its words.
        corpus: gives the training text.
        prepared_directory: where the folder is made.
        workers: the maximum number of processes; it does not affect the models.

    Raises:
        VocabularySizeError: `vocabulary_size` does not suit the text; the error has a size that suits all models.
        SubwordError: there is no text, or the folder is damaged.
        RunError: there is no run at `models_from`.
    """
    parent = None
    if config.models_from is not None:
        parent = RunFolder.open(config.models_from).subword_folder
    made_from = _made_from(config, corpus, parent)
    folder = prepared_folder(prepared_directory, "subword", sha256_of_json(made_from))
    if not folder.exists():
        with new_folder(folder) as unfinished_folder:
            texts = training_texts(config, corpus) if parent is None else []
            models, word_counts = _models_and_words(config, corpus, texts, workers)
            if parent is None:
                hashes = _write_models(texts, models, unfinished_folder)
            else:
                hashes = _copy_models(parent, unfinished_folder)
                word_counts.update(read_word_counts(parent / WORDS_FILE))
            write_word_counts(unfinished_folder / WORDS_FILE, word_counts)
            write_json(unfinished_folder / RECORD_FILE, {**made_from, "sha256": hashes})
    return SubwordPair.load(folder), folder


def _made_from(config: SubwordConfig, corpus: "PreparedCorpus", parent: Path | None) -> dict[str, Any]:
    """Return all that the models depend on; `parent` is the folder of the models of `models_from`."""
    source_language = corpus.sides[0]
    settings: dict[str, Any]
    if parent is not None:
        words = Counter(read_word_counts(parent / WORDS_FILE))
        settings = {"models": SubwordPair.load(parent).sha256, "words": sha256_of_json(words)}
    else:
        settings = config.model_dump(mode="json", exclude={"sampling", "case", "models_from"})
        settings["byte_fallback"] = uses_byte_fallback(config)
        settings["fold"] = config.folds_case and source_language == "en"
    return {
        "format": _FORMAT,
        "sentencepiece": sentencepiece.__version__,
        "corpus": corpus.fingerprint,
        "sides": corpus.sides,
        "settings": settings,
    }


def _copy_models(parent: Path, folder: Path) -> dict[str, str]:
    """Copy the models in `parent` to `folder`, and return the SHA-256 of each file."""
    hashes = SubwordPair.load(parent).sha256
    for file in hashes:
        write_bytes(folder / file, read_file(parent / file))
    return hashes


def _write_models(texts: Sequence[TrainingText], models: Sequence[bytes], folder: Path) -> dict[str, str]:
    """Write the model of each text to `folder`, and return the SHA-256 of each file."""
    hashes: dict[str, str] = {}
    for text, content in zip(texts, models, strict=True):
        path = folder / f"{text.name}.model"
        write_bytes(path, content)
        hashes[path.name] = SubwordModel(content, path).sha256
    return hashes


def _models_and_words(
    config: SubwordConfig, corpus: "PreparedCorpus", texts: Sequence[TrainingText], workers: int
) -> tuple[list[bytes], Counter[str]]:
    """Return the models trained on `texts`, and the counts of the English words of the training text.

    Words are counted only for an English source, because only English spelling is corrected.

    Raises VocabularySizeError: `vocabulary_size` does not suit the text.
    """
    blocks: list[TextBlock] = []
    if corpus.sides[0] == "en":
        for name in corpus.names("train"):
            blocks += corpus.blocks("train", name, "en", _LINES_TO_COUNT)
    # The models first, since they take longest: a process that has finished one counts words meanwhile.
    items: list[_Item] = [*texts, *blocks]
    bar: tqdm[object] = progress_bar(description="Training subword models", total=len(texts), unit="models")
    models: list[bytes] = []
    counts = Counter[str]()
    try:
        with bar, contextlib.closing(map_in_order(partial(_worker, config), items, workers)) as results:
            for result in results:
                if isinstance(result, bytes):
                    models.append(result)
                    bar.update()
                else:
                    counts.update(result)
    except VocabularySizeError as error:
        raise size_error(error, config, corpus) from error
    return models, counts


def _worker(config: SubwordConfig) -> "Callable[[_Item], bytes | Counter[str]]":
    """Return the function with which a worker process trains a model, or counts the words of a block."""

    def work(item: "_Item") -> bytes | Counter[str]:
        return item.train(config) if isinstance(item, TrainingText) else count_words(item.lines())

    return work
