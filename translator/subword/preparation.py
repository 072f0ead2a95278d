"""The subword models of a prepared corpus: trained once, then reused."""

import contextlib
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sentencepiece
from tqdm import tqdm

from translator.config import SubwordConfig
from translator.run.files import new_folder, prepared_folder, sha256_of_json, write_bytes, write_json
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, progress_bar
from translator.run.workers import map_in_order
from translator.subword.model import WORDS_FILE, SubwordModel, SubwordPair, read_file, read_word_counts
from translator.subword.spelling import count_words, write_word_counts
from translator.subword.training import trainer, uses_byte_fallback

if TYPE_CHECKING:  # not for loading a model, which should be fast
    from translator.corpus.prepared_corpus import PreparedCorpus

_RECORD_FILE: Final = "subword.json"  # what the models were made from
_FORMAT: Final = 5  # part of the fingerprint; increased when training changes


def prepare_subword(
    config: SubwordConfig, corpus: "PreparedCorpus", prepared_directory: Path, workers: int = 1
) -> tuple[SubwordPair, Path]:
    """Return the models of a training split and their folder `<prepared_directory>/subword-<16 hex>`.

    They are trained, or loaded if they exist for the same text and settings. Each is trained on at most
    100,000 drawn lines.

    Args:
        config: the settings. With `models_from`, the models of that run are used, and the words of this text are added
            to its words.
        corpus: gives the training text.
        prepared_directory: where the folder is made.
        workers: the maximum number of processes; it does not affect the models.

    Raises:
        SubwordError: there is no text, `vocabulary_size` is too small for it, or the folder is damaged.
        RunError: there is no run at `models_from`.
    """
    # 1. The folder has the fingerprint of all that the models depend on.
    parent = None  # the folder of the models of another run, if those are used
    if config.models_from is not None:
        parent = RunFolder.open(config.models_from).subword_folder
    made_from = _made_from(config, corpus, parent)
    folder = prepared_folder(prepared_directory, "subword", sha256_of_json(made_from))

    # 2. Train the models or copy them, and count words.
    if not folder.exists():
        with new_folder(folder) as unfinished_folder:
            word_counts = _word_counts(corpus)
            if parent is None:
                _train(config, corpus, unfinished_folder, workers)
            else:
                for file in SubwordPair.load(parent).sha256:  # its keys are the names of the files
                    write_bytes(unfinished_folder / file, read_file(parent / file))
                word_counts.update(read_word_counts(parent / WORDS_FILE))  # adds to the counts
            write_word_counts(unfinished_folder / WORDS_FILE, word_counts)
            write_json(unfinished_folder / _RECORD_FILE, made_from)
    return SubwordPair.load(folder), folder


def _made_from(config: SubwordConfig, corpus: "PreparedCorpus", parent: Path | None) -> dict[str, Any]:
    """Return all that the models depend on; `parent` is the folder of the models of `models_from`."""
    source_language = corpus.sides[0]
    settings: dict[str, Any]
    if parent is not None:
        # Copied models: their files, and their words, to which the words of this text are added.
        words = read_word_counts(parent / WORDS_FILE)
        settings = {"models": SubwordPair.load(parent).sha256, "words": sha256_of_json(words)}
    else:
        # Trained models: the keys that change them. `byte_fallback` and `fold` have the values that follow from others.
        settings = config.model_dump(mode="json", exclude={"case", "models_from"})
        settings["byte_fallback"] = uses_byte_fallback(config)
        settings["fold"] = config.folds_case and source_language == "en"
    return {
        "format": _FORMAT,
        "sentencepiece": sentencepiece.__version__,
        "corpus": corpus.report.fingerprint,
        "sides": corpus.sides,
        "settings": settings,
    }


def _word_counts(corpus: "PreparedCorpus") -> Counter[str]:
    """Return the counts of the English words of the training text; none for a Persian source, which stays as typed."""
    counts = Counter[str]()
    if corpus.sides[0] == "en":
        for name in corpus.names("train"):
            counts.update(count_words(corpus.lines("train", name, "en")))
    return counts


def _train(config: SubwordConfig, corpus: "PreparedCorpus", folder: Path, workers: int) -> None:
    """Write the models to `folder`; warn of those for which the text has too few pieces."""
    names = ["joint"] if config.joint else ["source", "target"]
    bar: tqdm[object] = progress_bar(description="Training subword models", total=len(names), unit="models")
    with bar, contextlib.closing(map_in_order(partial(trainer, config, corpus), names, workers)) as models:
        for name, content in zip(names, models, strict=True):
            file = folder / f"{name}.model"
            write_bytes(file, content)
            pieces = SubwordModel(content, file).vocabulary_size
            # No warning for a `char` model: it never has more pieces than its text has characters.
            if pieces < config.vocabulary_size and config.model_type != "char":
                LOGGER.warning(
                    f"the {name} model has {pieces:,} pieces, not subword.vocabulary_size: "
                    f"{config.vocabulary_size:,}: its text has no more"
                )
            bar.update()
