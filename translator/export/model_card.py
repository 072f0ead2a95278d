"""The model card: README.md of an export, which says what the model is, where it comes from and how to use it."""

import re
from typing import Final

import jinja2

from translator.config import Config
from translator.config.corpus_section import ENGLISH
from translator.corpus.held_out import left_out_note
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
# Markdown is not escaped as HTML.
_ENVIRONMENT: Final = jinja2.Environment(
    loader=jinja2.PackageLoader("translator"), undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False
)


def model_card(index: ExportIndex, config: Config, run: RunFolder) -> str:
    """Return the model card, in Markdown, of an export.

    Args:
        index: format and origin of the export.
        config: the settings of the run.
        run: its folder, for the scores of the exported checkpoint.
    """
    # 1. What is known of the model: scores of its checkpoint, and the licence if all corpora share one.
    scores = [score for score in saved_scores(run.evaluation_folder) if score.checkpoint == index.state.name]
    licences = {source.licence for source in config.corpus.sources}
    licence = licences.pop() if len(licences) == 1 else None

    # 2. What its user must know: the signs that stand for copied text, the search, the longest input.
    placeholder_count = config.subword.placeholders
    last_placeholder = f"U+{ord(PLACEHOLDERS[placeholder_count - 1]):X}" if placeholder_count else ""
    longest_input = min(_LONGEST_INPUT, index.state.model.max_positions - 1)  # EOS needs a position
    text = _ENVIRONMENT.get_template("model_card.md.j2").render(
        index=index,
        config=config,
        licence=re.sub(r"[ _]", "-", licence.lower()) if licence else "other",
        library=_LIBRARIES.get(index.format, index.format),
        languages=config.corpus.languages,
        from_english=config.corpus.languages[0] == ENGLISH,
        last_placeholder=last_placeholder,
        subword_files=(JOINT_FILE, JOINT_FILE) if config.subword.joint else (SOURCE_FILE, TARGET_FILE),
        beam=config.search.settings.beam_size,
        longest=longest_input,
        normalizer_file=("" if index.format == "marian" else "subword/") + run.normalizer_file.name,
        scores=scores,
        raw_scores=[score for score in scores if score.normalization == RAW],
        left_out_note=left_out_note,
    )
    return text + "\n"


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
