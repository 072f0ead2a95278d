"""The model card: README.md of an export, which says what the model is, where it comes from and how to use it."""

import re
from collections.abc import Sequence
from typing import Any, Final

import jinja2
import yaml

from translator.config import Config, SourceConfig
from translator.config.corpus_section import ENGLISH
from translator.corpus.held_out import left_out_note
from translator.corpus.public_corpora import DATASETS
from translator.evaluation import Score
from translator.evaluation.results import saved_scores
from translator.evaluation.text_variants import RAW
from translator.inference.engines.exported import ExportIndex
from translator.run.folder import RunFolder
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE
from translator.subword.placeholders import PLACEHOLDERS

_LIBRARIES: Final = {"marian": "transformers", "safetensors": "translator"}
"""The library that loads a format, where it has another name."""
_LONGEST_INPUT: Final = 512  # tokens
_NON_COMMERCIAL: Final = re.compile(r"\bNC\b|non-?commercial", re.IGNORECASE)


def model_card(index: ExportIndex, config: Config, run: RunFolder) -> str:
    """Return the model card, in Markdown, of an export.

    Args:
        index: format and origin of the export.
        run: its folder, for the scores of the exported checkpoint.
    """
    search, languages, placeholders = config.search, config.corpus.languages, config.subword.placeholders
    from_english = languages[0] == ENGLISH
    scores = [score for score in saved_scores(run) if score.checkpoint == index.state.name]
    text = (
        _environment()
        .get_template("model_card.md.j2")
        .render(
            index=index,
            metadata=_metadata(index, config, scores),
            state=index.state,
            model=index.state.model,
            max_length=config.batching.max_length,
            languages=languages,
            folds_case=config.subword.folds_case and from_english,
            placeholders=f"U+{ord(PLACEHOLDERS[placeholders - 1]):X}" if placeholders else "",
            subword_files=(JOINT_FILE, JOINT_FILE) if config.subword.joint else (SOURCE_FILE, TARGET_FILE),
            beam=search.beam_size if search.method == "beam" else 1,
            longest=min(_LONGEST_INPUT, index.state.model.max_positions - 1),  # longer input would exceed the positions
            gnmt_penalty=search.length_normalization != "average" and search.method == "beam",
            normalizer_file=("" if index.format == "marian" else "subword/") + run.normalizer_file.name,
            from_english=from_english,
            **_normalizer_values(config),
            sources=_sources(config),
            scores=scores,
        )
    )
    return text + "\n"


def _environment() -> jinja2.Environment:
    """Return the environment of templates in Markdown, whose text is not escaped as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("translator"), undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False
    )
    environment.filters["cell"] = _table_cell
    environment.filters["left_out_note"] = left_out_note
    return environment


def _table_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _normalizer_values(config: Config) -> dict[str, Any]:
    """Return what the card says of the normalizer: changed settings, and all of them."""
    normalization = config.corpus.normalization
    fields = type(normalization).model_fields
    # Readers who know the defaults need only what differs.
    changed = [f"{key}={value!r}" for key, value in normalization if value != fields[key].default]
    settings = normalization.model_dump(mode="json")
    return {
        "changed_settings": ", ".join(changed),
        "settings": ", ".join(f"{key}: {str(value).lower()}" for key, value in settings.items()),
    }


def _sources(config: Config) -> list[tuple[str, str, str, str]]:
    """Return name, use, licence and origin of each corpus of the run."""
    rows = []
    for source in config.corpus.sources:
        rows.append((source.name, str(source.use), source.licence or "not stated", _origin(source)))
    for source in config.evaluation.test_sources:
        rows.append((source.name, "extra test set", "not stated", _origin(source)))
    return rows


def _metadata(index: ExportIndex, config: Config, scores: Sequence[Score]) -> str:
    """Return the card's metadata for the Hugging Face Hub as YAML."""
    licences = {source.licence for source in config.corpus.sources}
    licence = licences.pop() if len(licences) == 1 else None
    raw_scores = [score for score in scores if score.normalization == RAW]
    results = []
    for test_set in dict.fromkeys(score.test_set for score in raw_scores):
        metrics = [score for score in raw_scores if score.test_set == test_set]
        result = {
            "task": {"type": "translation", "name": "Translation"},
            "dataset": {"type": test_set, "name": test_set},
            "metrics": [{"type": score.metric, "value": round(score.score, 2)} for score in metrics],
        }
        results.append(result)
    metadata: dict[str, Any] = {
        "language": [language.code for language in config.corpus.languages],
        "license": re.sub(r"[ _]", "-", licence.lower()) if licence else "other",
        "library_name": _LIBRARIES.get(index.format, index.format),
        "pipeline_tag": "translation",
        "tags": ["translation", "transformer"],
        "datasets": [source.name for source in config.corpus.sources],
        "metrics": list(dict.fromkeys(score.metric for score in raw_scores)),
    }
    if results:
        metadata["model-index"] = [{"name": index.run, "results": results}]
    return yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)


def licence_warnings(config: Config) -> list[str]:
    """Return a warning of each training corpus whose licence is not stated, or forbids commercial use."""
    warnings = []
    trained = [source for source in config.corpus.sources if source.use in ("auto", "train")]
    for source in trained:
        if source.licence is None:
            warnings.append(f"the licence of `{source.name}` is not stated (corpus.sources.licence)")
        elif _NON_COMMERCIAL.search(source.licence):
            warnings.append(f"the licence of `{source.name}` forbids commercial use: {source.licence}")
    return warnings


def _origin(source: SourceConfig) -> str:
    """Return where a corpus comes from, as its recipe says, or as its name suggests."""
    if source.obtain and source.obtain.strip():
        return " ".join(source.obtain.split())
    if source.licence is not None:
        return "origin is not stated"
    # A name is a hint and no proof, so the card says `not stated`.
    dataset = DATASETS.get(source.name)
    if dataset is not None:
        return f"not stated; a public corpus of this name is {dataset.title} ({dataset.licence}, {dataset.home})"
    return "not stated"
