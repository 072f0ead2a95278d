"""Translates the test sets of a run and scores the translations."""

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass

from translator.config import Config, SearchConfig
from translator.corpus.normalize import Normalizer
from translator.corpus.prepare import PreparedCorpus
from translator.corpus.test_set import read_test_set
from translator.data import DataHandler
from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.score_file import add_scores, saved_scores
from translator.evaluation.summary import TranslatedPair, format_summary
from translator.inference import Translator
from translator.run_folder import RunFolder
from translator.storage import write_text

LOGGER = logging.getLogger("translator")

SAMPLES = 10
"""Translations of each test set shown in the summary."""


@dataclass(frozen=True)
class HeldOutSet:
    """Sentence pairs that no model was trained on, as read from the corpus."""

    name: str
    sources: list[str]
    references: list[str]


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found; everything is also in the run's evaluation folder."""

    scores: list[Score]
    """The first is BLEU 13a on the raw text of the first test set."""
    samples: list[TranslatedPair]
    """Pairs of all test sets, chosen at random with the run's seed."""


def evaluate_run(
    run: RunFolder, *, checkpoint: str = "best", overrides: Sequence[str] = (), device: str = "auto"
) -> Evaluation:
    """Translate and score the test split of each source of a run, and its further test sets.

    Writes `evaluation/TEST_SET.CHECKPOINT.SEARCH.hypotheses.txt` with `TEST_SET.source.txt` and
    `TEST_SET.reference.txt` beside, and brings `scores.json` and `summary.md` up to date.

    Args:
        run: the run.
        checkpoint: `best`, `last` or a step number.
        overrides: `key.path=value` for search and metrics.
        device: see `Translator.load`.

    Raises:
        RunError: the run, its checkpoint or its scores are damaged or missing.
        ConfigError: an override is wrong.
        CorpusError: a test set cannot be read.
        StorageError: the evaluation folder cannot be written, or prepared data are damaged.
    """
    config = run.config(overrides)
    saved_scores(run)  # a damaged file is better known now than after an hour of translating
    translator = Translator.load(run.path, checkpoint=checkpoint, device=device, overrides=overrides)
    assert translator.checkpoint is not None, "it was loaded from one"
    checkpoint_name = translator.checkpoint.name
    data = DataHandler(config)
    if data.fingerprint != translator.checkpoint.data:
        LOGGER.warning(
            "the data of %s have changed since it was trained: the test split may hold sentences that the model knows, "
            "and its scores mean little. Restore the corpus files, or train again",
            run.path,
        )
    search = search_label(config.search)
    scores: list[Score] = []
    samples: dict[str, list[TranslatedPair]] = {}
    for held_out in held_out_sets(config, data.corpus):
        name = held_out.name
        hypotheses = translator.translate_lines(held_out.sources, description=f"translating {name}")
        _write_lines(run, f"{name}.source.txt", held_out.sources)
        _write_lines(run, f"{name}.reference.txt", held_out.references)
        _write_lines(run, f"{name}.{checkpoint_name}.{search}.hypotheses.txt", hypotheses)
        scores += compute_scores(
            hypotheses,
            held_out.references,
            metrics=config.evaluation.metrics,
            normalization=config.corpus.normalization,
            test_set=name,
            search=search,
            checkpoint=checkpoint_name,
        )
        pairs = list(zip(held_out.sources, held_out.references, hypotheses, strict=True))
        chosen = random.Random(config.run.seed).sample(pairs, min(SAMPLES, len(pairs)))
        samples[name] = [TranslatedPair(*pair) for pair in chosen]
    if not scores:
        LOGGER.warning("nothing to evaluate: corpus.split.test is 0 and evaluation.test_sets is empty")
        return Evaluation([], [])
    title = f"Evaluation of {run.path.name}, checkpoint {checkpoint_name}, {search}"
    write_text(run.evaluation_folder / "summary.md", format_summary(title, add_scores(run, scores), samples))
    return Evaluation(scores, [pair for pairs in samples.values() for pair in pairs])


def held_out_sets(config: Config, corpus: PreparedCorpus) -> list[HeldOutSet]:
    """Return the test split of each source, then the further test sets; those without a pair are left out.

    Raises:
        CorpusError: a test set cannot be read.
        StorageError: the prepared text is damaged.
    """
    found = [
        HeldOutSet(name, list(corpus.lines("test", name, "en")), list(corpus.lines("test", name, "fa")))
        for name in corpus.names("test")
    ]
    for source in config.evaluation.test_sets:
        pairs = list(read_test_set(source, Normalizer(config.corpus.normalization)))
        found.append(HeldOutSet(source.name, [pair.source for pair in pairs], [pair.target for pair in pairs]))
    return [held_out for held_out in found if held_out.sources]


def search_label(config: SearchConfig) -> str:
    """Return a short name of all search settings that a translation depends on, fit for a file name."""
    usual = SearchConfig()
    parts: list[str] = [config.method]
    if config.method == "beam":
        parts.append(str(config.beam_size))
        if config.length_penalty != usual.length_penalty:
            parts.append(f"penalty-{config.length_penalty:g}")
    if config.max_length_ratio != usual.max_length_ratio:
        parts.append(f"ratio-{config.max_length_ratio:g}")
    return "-".join(parts)


def _write_lines(run: RunFolder, name: str, lines: Sequence[str]) -> None:
    """Write one line for each text; line breaks other than "\\n" stay inside their line, as in the corpus."""
    write_text(run.evaluation_folder / name, "".join(f"{line}\n" for line in lines))
