"""The model card: README.md of an export, which says what the model is, where it comes from and how to use it."""

from typing import Any, Final

import jinja2

from translator.config import Config, SourceConfig
from translator.config.corpus_section import ENGLISH
from translator.corpus.held_out import left_out_note
from translator.corpus.public_corpora import DATASETS
from translator.evaluation.results import saved_scores
from translator.inference.engines.exported import ExportIndex
from translator.run.folder import RunFolder
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE
from translator.subword.placeholders import PLACEHOLDERS

_LIBRARIES: Final = {"marian": "transformers", "safetensors": "translator"}
"""The library that loads a format, where it has another name."""
_LONGEST_INPUT: Final = 512  # tokens


def model_card(index: ExportIndex, config: Config, run: RunFolder) -> str:
    """Return the model card, in Markdown, of an export.

    Args:
        index: format and origin of the export.
        run: its folder, for the scores of the exported checkpoint.
    """
    search, languages, placeholders = config.search, config.corpus.languages, config.subword.placeholders
    from_english = languages[0] == ENGLISH
    text = (
        _environment()
        .get_template("model_card.md.j2")
        .render(
            index=index,
            library=_LIBRARIES.get(index.format, index.format),
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
            scores=[score for score in saved_scores(run) if score.checkpoint == index.state.name],
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


def _sources(config: Config) -> list[tuple[str, str, str]]:
    """Return name, use and origin of each corpus of the run."""
    rows = [(source.name, str(source.use), _origin(source)) for source in config.corpus.sources]
    rows += [(source.name, "extra test set", _origin(source)) for source in config.evaluation.test_sources]
    return rows


def _origin(source: SourceConfig) -> str:
    """Return where a corpus comes from, as its recipe says, or as its name suggests."""
    if source.obtain and source.obtain.strip():
        return " ".join(source.obtain.split())
    # A name is a hint and no proof, so the card says `not stated`.
    dataset = DATASETS.get(source.name)
    if dataset is not None:
        return f"not stated; a public corpus of this name is {dataset.title} ({dataset.licence}, {dataset.home})"
    return "origin and licence are not stated"
