"""The tokenizer of a Marian export: the subword models as Hugging Face's `MarianTokenizer` loads them."""

from pathlib import Path

from translator.config.corpus_section import Languages
from translator.core import EOS, PAD, SOS, SPECIAL_TOKENS, UNK
from translator.run.files import write_bytes, write_json
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE, SubwordPair


def write_marian_tokenizer(folder: Path, subword_folder: Path, max_length: int, languages: Languages) -> None:
    """Write the tokenizer into `folder`.

    Args:
        folder: the export; it exists.
        subword_folder: the run's folder of subword models.
        max_length: the limit for `truncation=True`, in tokens with EOS.
        languages: (source, target).
    """
    subword = SubwordPair.load(subword_folder)

    # 1. The models: Marian has one file per side, also where both sides share a model.
    source_file, target_file = (JOINT_FILE, JOINT_FILE) if subword.joint else (SOURCE_FILE, TARGET_FILE)
    write_bytes(folder / "source.spm", (subword_folder / source_file).read_bytes())
    write_bytes(folder / "target.spm", (subword_folder / target_file).read_bytes())

    # 2. The vocabularies: the id of each piece.
    models = {"vocab.json": subword.source}
    if not subword.joint:
        models["target_vocab.json"] = subword.target
    for file, model in models.items():
        pieces = model.pieces_of(range(model.vocabulary_size))
        write_json(folder / file, {piece: token_id for token_id, piece in enumerate(pieces)})

    # 3. The settings.
    keys = {PAD: "pad_token", UNK: "unk_token", SOS: "bos_token", EOS: "eos_token"}
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": languages[0].code,
        "target_lang": languages[1].code,
        "separate_vocabs": not subword.joint,
        **{keys[token_id]: spelling for spelling, token_id in SPECIAL_TOKENS},
        "model_max_length": max_length,
        # Special tokens spelled out in a text are encoded as text, and spaces in Persian text are kept.
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / "tokenizer_config.json", settings)
