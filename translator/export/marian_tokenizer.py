"""The tokenizer of a Marian folder: the same SentencePiece models, and vocabularies that give our ids."""

from pathlib import Path

from translator.special_tokens import EOS, PAD, SOS, SPECIAL_TOKENS, UNK
from translator.storage import write_bytes, write_json
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE, SubwordModel, SubwordPair

_SPELLING = {token: spelling for spelling, token in SPECIAL_TOKENS}


def write_marian_tokenizer(folder: Path, subword_folder: Path, max_length: int) -> None:
    """Write source.spm, target.spm, the vocabularies and tokenizer_config.json into `folder`.

    Args:
        folder: where to.
        subword_folder: where the models of both languages are.
        max_length: longest source in tokens, EOS included; where `truncation=True` cuts.

    Raises:
        SubwordError: a model is missing or damaged.
    """
    subword = SubwordPair.load(subword_folder)
    names = (JOINT_FILE, JOINT_FILE) if subword.joint else (SOURCE_FILE, TARGET_FILE)
    for name, written in zip(names, ("source.spm", "target.spm"), strict=True):
        write_bytes(folder / written, (subword_folder / name).read_bytes())
    write_json(folder / "vocab.json", _vocabulary(subword.source))
    if not subword.joint:
        write_json(folder / "target_vocab.json", _vocabulary(subword.target))
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": "en",
        "target_lang": "fa",
        "separate_vocabs": not subword.joint,
        "pad_token": _SPELLING[PAD],
        "unk_token": _SPELLING[UNK],
        "bos_token": _SPELLING[SOS],
        "eos_token": _SPELLING[EOS],
        "model_max_length": max_length,
        # A text that spells a special token is text; and a Persian sentence keeps its spaces.
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / "tokenizer_config.json", settings)


def _vocabulary(model: SubwordModel) -> dict[str, int]:
    """Return the id of each piece."""
    pieces = model.pieces_of(range(model.vocabulary_size))
    vocabulary = {piece: token for token, piece in enumerate(pieces)}
    assert len(vocabulary) == len(pieces), "SentencePiece allows no piece twice"
    return vocabulary
