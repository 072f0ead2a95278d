"""BLEU on the pieces of a SentencePiece model of FLORES (Goyal et al. 2022), where a person has one; no download."""

from pathlib import Path
from typing import Final

import sacrebleu.utils
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

from translator.errors import InputError

_TOKENIZERS: Final = ("flores200", "flores101")
"""The first that is there is taken."""


def spbleu_lacks() -> str | None:
    """Return what is missing for spBLEU and how to get it; None if it can be computed."""
    if _tokenizer() is not None:
        return None
    file = _model_file(_TOKENIZERS[0])
    url = SPM_MODELS[_TOKENIZERS[0]]["url"]
    return f"spBLEU needs the SentencePiece model of FLORES-200: fetch {url} into {file}"


def spbleu_scorer() -> BLEU:
    """Return the metric.

    Raises:
        InputError: the model file is damaged.
    """
    name = _tokenizer()
    assert name is not None, "asked before"
    try:
        return BLEU(tokenize=name, force=True)
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"{_model_file(name)} is no SentencePiece model, or it is damaged; delete it, or fetch it again from "
            f"{SPM_MODELS[name]['url']}"
        ) from error


def _tokenizer() -> str | None:
    """Return the tokenizer whose model sacreBLEU would find on disk."""
    return next((name for name in _TOKENIZERS if _model_file(name).is_file()), None)


def _model_file(name: str) -> Path:
    return Path(sacrebleu.utils.SACREBLEU_DIR) / "models" / Path(SPM_MODELS[name]["url"]).name
