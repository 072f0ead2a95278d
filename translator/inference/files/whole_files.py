"""Files of subtitles and of messages, translated as a whole: what stands among their texts stays."""

from pathlib import Path
from typing import Final

from tqdm import tqdm

from translator.corpus.reading.forms import without_packing
from translator.errors import InputError
from translator.inference.files.block_translation import LINES_AT_ONCE, translate_block
from translator.inference.files.document import Block
from translator.inference.files.messages import Messages
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.subtitles import Subtitles
from translator.inference.translator import Translator
from translator.run.files import storage_errors
from translator.run.logging import progress_bar

WholeFile = Subtitles | Messages
"""A file that is read before its translation, and written after it."""
_READERS: Final[dict[str, type[WholeFile]]] = {
    ".srt": Subtitles,
    ".vtt": Subtitles,
    ".po": Messages,
    ".pot": Messages,
}


def refuse_other_subtitles(source: Path, output: Path) -> None:
    """Raise InputError if one is named as SubRip and the other as WebVTT; a translation keeps its form."""
    forms = [Path(without_packing(path.name)).suffix.lower() for path in (source, output)]
    if set(forms) == {".srt", ".vtt"}:
        raise InputError(
            f"the translation of {source} is subtitles of the same form; let the name of the output end in {forms[0]}, "
            "and convert that, for example with ffmpeg"
        )


def read_whole_file(source: Path) -> WholeFile | None:
    """Return a file that is translated as a whole; None for other files, as the name tells.

    Raises StorageError, CorpusError, InputError: it cannot be read, or is damaged.
    """
    reader = _READERS.get(Path(without_packing(source.name)).suffix.lower())
    if reader is None:
        return None
    with storage_errors(source, "read"):
        return reader(source)


def translate_whole_file(translator: Translator, file: WholeFile, name: str) -> str:
    """Return the content of the translated file; `name` is that of its source, for the progress bar."""
    lines: list[str] = []
    bar: tqdm[object] = progress_bar(description=f"translating {name}", total=len(file.texts), unit="texts")
    with bar:
        for first in range(0, len(file.texts), LINES_AT_ONCE):
            texts = file.texts[first : first + LINES_AT_ONCE]
            lines += translate_block(translator, OutputForm(), Block(first + 1, texts))
            bar.update(len(texts))
    return file.written(lines, translator.normalizer.languages[1].code)
