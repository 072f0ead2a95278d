"""Code for the model card that works as it stands, from inside the exported folder."""

from typing import Final

from translator.config import Config
from translator.export.formats import Format
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE

_WITH_TRANSLATOR: Final = """\
From a shell, or with what `translator` does besides (normalization, long texts, blank lines):

    translator translate --run . {flags}"The children are at school."
"""

_CTRANSLATE2: Final = """\
```python
import ctranslate2
import sentencepiece

folder = "."  # where this file is
source = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/subword/{source}")
target = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/subword/{target}")
model = ctranslate2.Translator(folder, inter_threads=2, intra_threads=1)
found = model.translate_batch(
    source.encode(["The children are at school."], out_type=str),
    beam_size={beam},
    max_input_length=0,  # nothing is cut without a word
    max_decoding_length={longest},
    min_decoding_length=0,
    disable_unk=True,
    suppress_sequences=[["<pad>"], ["<s>"]],
)
for translation in found:
    print(target.decode(translation.hypotheses[0]))
```

The end of a sentence is added to a source by itself (`add_source_eos`).
"""

_MARIAN: Final = """\
```python
from transformers import MarianMTModel, MarianTokenizer

folder = "."  # where this file is
tokenizer = MarianTokenizer.from_pretrained(folder)
model = MarianMTModel.from_pretrained(folder)
batch = tokenizer(["The children are at school."], return_tensors="pt", padding=True)
for translation in tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True):
    print(translation)
```

`generate` divides scores by length ** length_penalty{penalty}.
A text that begins with `>>` loses what comes before `<<`: the tokenizer takes it for the name of a language.
"""

_SAFETENSORS: Final = """\
```python
from translator import Translator

folder = "."  # where this file is
translator = Translator.load(folder)
print(translator.translate("The children are at school."))
```
"""


def usage(format: Format, config: Config) -> str:
    """Return how a folder of `format` is used, in Markdown."""
    beam = config.search.beam_size if config.search.method == "beam" else 1
    if format == "marian":
        alike = config.search.length_normalization == "average" or config.search.method != "beam"
        penalty = "" if alike else ", the search of `translator` by ((5 + length) / 6) ** length_penalty"
        return _MARIAN.format(penalty=penalty).rstrip()
    if format == "ctranslate2":
        names = (JOINT_FILE, JOINT_FILE) if config.subword.joint else (SOURCE_FILE, TARGET_FILE)
        longest = min(512, config.model.max_positions - 1)  # beyond the positions it would stop with an error
        code = _CTRANSLATE2.format(source=names[0], target=names[1], beam=beam, longest=longest)
        return f"{code}\n{_WITH_TRANSLATOR.format(flags='--engine ctranslate2 ')}".rstrip()
    return f"{_SAFETENSORS}\n{_WITH_TRANSLATOR.format(flags='')}".rstrip()
