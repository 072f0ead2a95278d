"""The preparation of data: cleaned corpus, subword models and token stores of a recipe, made once and then reused."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from translator.config import Config
from translator.corpus.file_hashes import FileHashes
from translator.corpus.normalizer import Normalizer
from translator.corpus.normalizer_file import normalizer_for
from translator.corpus.prepare import prepare_corpus
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.data.corpus_tokens import STORED_SPLITS, StoredSplit, open_tokens
from translator.data.mixture import MixtureRow, mixture_rows
from translator.data.preparation_report import LengthReport, measure_lengths
from translator.data.token_store import PairStore
from translator.errors import CorpusError
from translator.run.logging import LOGGER, stage
from translator.run.workers import processes_for
from translator.subword import SubwordPair, prepare_subword


@dataclass(frozen=True)
class PreparedData:
    """All that a recipe's text has become."""

    normalizer: Normalizer  # the rules applied to the training text; apply them to any other text before encoding
    corpus: PreparedCorpus
    subword: SubwordPair
    subword_folder: Path
    stores: dict[StoredSplit, PairStore]
    token_folder: Path
    token_fingerprint: str  # of the text and the models
    report: list[LengthReport]  # lengths of each source in the training and the validation split
    mixture: list[MixtureRow]  # the share of each source in an epoch
    processes: int  # that preparation uses


def prepare_data(config: Config, verified: FileHashes | None = None) -> PreparedData:
    """Prepare all missing data, without downloads, and return it.

    Over-long pairs are excluded, never cut; `report` and a warning give their number. Over-long validation pairs are
    excluded only from the validation loss.

    Args:
        config: the recipe.
        verified: `corpus.file_hashes` of another process, which has just prepared the same data on this machine; then
            the files are not hashed once more.

    Raises TranslatorError: an error in corpus, subword settings or disk, or no training pair is short enough.
    """
    directory = Path(config.corpus.prepared_directory)
    normalizer = normalizer_for(config)
    corpus = prepare_corpus(config.corpus, config.evaluation.test_sources, normalizer.rules, verified)
    corpus = replace(corpus, languages=config.corpus.languages)
    processes = processes_for(config.corpus.workers, corpus.training_bytes())
    with stage("subword"):
        subword, subword_folder = prepare_subword(config.subword, corpus, directory, workers=processes)
    with stage("encode"):
        stores, token_folder, token_fingerprint = open_tokens(corpus, subword, normalizer, directory, processes)
    report: list[LengthReport] = []
    for split in STORED_SPLITS:
        report += _measured(split, stores[split], config.batching.max_length)
    return PreparedData(
        normalizer=normalizer,
        corpus=corpus,
        subword=subword,
        subword_folder=subword_folder,
        stores=stores,
        token_folder=token_folder,
        token_fingerprint=token_fingerprint,
        report=report,
        mixture=_mixture(config, report),
        processes=processes,
    )


def _measured(split: StoredSplit, store: PairStore, row_length: int) -> list[LengthReport]:
    """Return a report of each source of `split`; warn of the pairs that do not fit into a row."""
    reports = list(measure_lengths(split, store, row_length))
    over_long = sum(report.over_long for report in reports)
    if over_long == 0:
        return reports
    longest = max(report.longest for report in reports)
    limit = f"batching.max_length: {row_length} tokens (the longest has {longest})"
    if split == "train" and over_long == len(store):
        raise CorpusError(
            f"no training pair is left: all {over_long:,} are longer than {limit}; raise it, or raise "
            "subword.vocabulary_size to make fewer tokens"
        )
    share = f"{over_long:,} of {len(store):,} {split} pairs ({over_long / len(store):.2%})"
    effect = "excluded from the loss" if split == "validation" else "excluded"
    LOGGER.warning(f"{share} are longer than {limit} and are {effect}")
    return reports


def _mixture(config: Config, report: Sequence[LengthReport]) -> list[MixtureRow]:
    """Return the share of each source in an epoch."""
    pair_counts = {lengths.name: lengths.usable for lengths in report if lengths.split == "train"}
    weights = {}
    for source in config.corpus.sources:
        if source.use in ("auto", "train"):
            weights[source.name] = source.weight
    return mixture_rows(pair_counts, weights, config.batching.temperature)
