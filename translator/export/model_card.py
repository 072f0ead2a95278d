"""README.md of an exported folder: what the model is, what it was made of, how well it does, how to use it."""

from collections.abc import Sequence
from typing import Final

from translator.checkpoint import CheckpointState
from translator.config import Config, SourceConfig
from translator.corpus.download.datasets import DATASETS
from translator.corpus.normalize.rules import RULES
from translator.evaluation.score_file import saved_scores
from translator.export.formats import Format
from translator.export.index import ExportIndex
from translator.export.usage import usage
from translator.run_folder import RunFolder

_LIBRARIES: Final[dict[Format, str]] = {
    "ctranslate2": "ctranslate2",
    "marian": "transformers",
    "safetensors": "translator",
}


def model_card(index: ExportIndex, config: Config, run: RunFolder) -> str:
    """Return the text of README.md.

    Args:
        index: what is exported.
        config: of the run.
        run: whose scores are told.

    Raises:
        RunError: the scores of the run are damaged.
        StorageError: they cannot be read.
    """
    parts = [
        _front_matter(index),
        f"# {index.run}: English→Persian",
        _what_it_is(index, config),
        "## Use",
        usage(index.format, config),
        "## Text before the model",
        _normalization(index.state, config),
        "## Data and licence",
        _data(config),
        "## Scores",
        _scores(index.state, run),
        "## Limits",
        _limits(index, config),
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(index: ExportIndex) -> str:
    """Return the header by which model collections sort; no licence, since that is for whoever gives it on to say."""
    return "\n".join(
        ("---", "language: [en, fa]", f"library_name: {_LIBRARIES[index.format]}", "pipeline_tag: translation", "---")
    )


def _what_it_is(index: ExportIndex, config: Config) -> str:
    model, state = config.model, index.state
    averaged = ", ".join(str(step) for step in state.averaged_steps)
    weights = f"the mean of the weights of steps {averaged}" if averaged else f"the weights of step {state.step}"
    rows = [
        ("format", f"{index.format}, weights as {index.quantization}"),
        ("weights", weights),
        ("network", f"Transformer, {model.norm}-norm, {model.activation}, {model.positions} positions"),
        (
            "size",
            f"width {model.d_model}, {model.heads} heads, {model.encoder_layers} + {model.decoder_layers} layers, "
            f"feed-forward {model.feed_forward}",
        ),
        ("vocabulary", f"{state.source_vocabulary:,} English and {state.target_vocabulary:,} Persian pieces"),
        ("longest source", f"{config.batching.max_length} tokens, the end included"),
    ]
    return "A Transformer (Vaswani et al. 2017) that was trained by `translator`.\n\n" + _table(("", ""), rows)


def _normalization(state: CheckpointState, config: Config) -> str:
    """Return which rules the training text went through, and what that asks of a user."""
    settings = config.corpus.normalization.model_dump(mode="json")
    rows = [
        (f"`{rule.key}`", str(settings[rule.key]).lower(), rule.does)
        for rule in RULES
        if "source" in rule.sides and settings[rule.key] == rule.value
    ]
    on = ", ".join(f"{key}: {str(value).lower()}" for key, value in settings.items())
    return (
        f"The English of the training text went through normalizer version {state.normalizer_version} of `translator`, "
        "then NFKC, which is inside the SentencePiece models. `translator` does both by itself; another program that "
        "uses this folder does only the second, and must do the first, or the model meets spellings that it has "
        "never seen:\n\n"
        "    from translator.config import NormalizationConfig\n"
        "    from translator.corpus.normalize import Normalizer\n\n"
        f"    normalize = Normalizer(NormalizationConfig({_changed(config)})).source\n\n"
        + (
            "What it does to English:\n\n" + _table(("rule", "value", "what it does"), rows)
            if rows
            else "It does nothing to English."
        )
        + f"\n\nAll switches: {on}."
    )


def _changed(config: Config) -> str:
    """Return the switches that are not as they are by default, as arguments."""
    rules = config.corpus.normalization
    return ", ".join(
        f"{key}={getattr(rules, key)!r}"
        for key, field in type(rules).model_fields.items()
        if getattr(rules, key) != field.default
    )


def _data(config: Config) -> str:
    rows = [_source_row(source, source.use) for source in config.corpus.sources]
    rows += [_source_row(source, "further test set") for source in config.evaluation.test_sets]
    return (
        _table(("corpus", "use", "what the recipe says of it"), rows)
        + "\n\nWhat may be done with the model hangs on the licences of the corpora it was trained on; make sure of "
        "them before you give it on."
    )


def _source_row(source: SourceConfig, use: str) -> tuple[str, str, str]:
    """Return name, use, and what is known of a corpus: what the recipe says, or what a public one of its name is."""
    known = DATASETS.get(source.name)
    said = " ".join((source.obtain or "").split())
    if not said and known is not None:
        said = f"not said; a public corpus of this name is {known.title} ({known.licence}, {known.home})"
    return source.name, use, said or "origin and licence are not said"


def _scores(state: CheckpointState, run: RunFolder) -> str:
    """Return the scores of the exported checkpoint, each with its signature."""
    scores = [score for score in saved_scores(run) if score.checkpoint == state.name]
    if not scores:
        return f"Checkpoint {state.name} was not evaluated before it was exported."
    rows = [
        (
            score.test_set,
            str(score.sentences),
            score.metric,
            f"{score.shown} ({score.shown_interval})" if score.shown_interval else score.shown,
            score.normalization,
            score.search,
            f"`{score.signature}`",
        )
        for score in scores
    ]
    header = ("test set", "sentences", "metric", "score", "text", "search", "signature")
    return (
        "Of this checkpoint in its run, as scores.json has them, not measured with this folder; in brackets, where 95% "
        "of bootstrap resamples lie.\n\n" + _table(header, rows)
    )


def _limits(index: ExportIndex, config: Config) -> str:
    limits = [
        "It translates one sentence at a time and knows nothing of the sentences around it.",
        f"It was trained on sentences of up to {config.batching.max_length} tokens. `translator` cuts a longer text at "
        "the ends of sentences or clauses; other programs do not.",
        "It writes what is likely, not what is true: it can leave something out, add something, or get a name or a "
        "number wrong. Do not use it unread where that matters.",
        "What it has seen little of in training, it translates badly: see the corpora above.",
    ]
    if index.quantization not in ("float32",):
        limits.append(f"Its weights are rounded to {index.quantization}, which changes some translations.")
    return "\n".join(f"- {limit}" for limit in limits)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
