"""Messages of programs in gettext's files, PO and MO: English messages and their translations; read by polib, an extra.

A message may have a context, a plural, and an accelerator: the mark of the letter that a key of a menu types. Contexts
are no text. The singular goes with form 0 of the plural, the plural with the last form. Marks of accelerators are
removed; format strings and tags stay, since a translation copies them.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from translator.corpus.reading.languages import language_of
from translator.corpus.reading.lines import Pair
from translator.errors import CorpusError, InputError
from translator.run.text import install_command

FUZZY: Final = "fuzzy_message"  # the rules that drop entries that translators have not finished, or have given up
UNTRANSLATED: Final = "untranslated_message"
OBSOLETE: Final = "obsolete_message"
_BOM: Final = b"\xef\xbb\xbf"
_MARK: Final = re.compile(r"[_&~](?=[^\W_])(?!\w+;)")  # before a letter; `&quot;` has none
_WORD: Final = re.compile(r"[\w&~]+;?")
_MARK_AFTER: Final = re.compile(r"\s*\([_&~]\w\)")  # of a letter that the translation does not have: `بستن (_C)`


def pairs_of_messages(blocks: Iterable[bytes], label: str, *, compiled: bool) -> Iterator[Pair]:
    """Yield the pairs of a PO file, or of an MO file if it is `compiled`; the entries of an MO count as lines.

    An entry that is fuzzy, untranslated or obsolete gives a pair with a defect of that name.

    Raises:
        CorpusError: the file is damaged, has no header, or is of another language than Persian.
        InputError: polib is missing.
    """
    # 1. The entries. A header may name no language.
    entries = read_messages(blocks, label, compiled=compiled)
    language = entries.metadata.get("Language", "")
    if language and language_of(language) != "fa":
        raise CorpusError(f"{label} is no translation into Persian: its header says `Language: {language[:20]}`")
    for number, entry in enumerate(entries, start=1):
        # 2. An entry that is not finished, or not used any more.
        line = number if compiled else entry.linenum  # an MO has no lines
        if entry.obsolete or "fuzzy" in entry.flags:
            yield Pair(line, " ".join(entry.msgid.split()), "", OBSOLETE if entry.obsolete else FUZZY)
            continue

        # 3. The message and its translation; of a plural, the first and the last form.
        messages = [(entry.msgid, entry.msgstr)]
        if entry.msgid_plural:
            plural_forms = [text for _, text in sorted(entry.msgstr_plural.items())]
            messages = [(entry.msgid, plural_forms[0]), (entry.msgid_plural, plural_forms[-1])]

        # 4. A pair of each message, on one line and without accelerators.
        for english, persian in messages:
            english, persian = " ".join(english.split()), " ".join(persian.split())
            if not persian:
                yield Pair(line, english, "", UNTRANSLATED)
            else:
                yield Pair(line, without_accelerator(english, persian), without_accelerator(persian, english))


def read_messages(blocks: Iterable[bytes], label: str, *, compiled: bool) -> Any:
    """Return the entries of a file, as polib reads them.

    Raises:
        CorpusError: the file is damaged, or has no header.
        InputError: polib is missing.
    """
    # 1. The library, which is an extra of the package.
    try:
        import polib
    except ImportError as error:
        advice = f"install it with: {install_command('polib>=1.2,<2')}"
        raise InputError(
            f"{label} has messages of a program, and polib cannot be imported ({error}); {advice}"
        ) from error

    # 2. The entries. polib finds the encoding only if it reads a file, so the blocks are written to one. In a PO, polib
    # takes neither a byte order mark nor "\r\n".
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "messages")
        content = b"".join(blocks)
        file.write_bytes(content if compiled else content.removeprefix(_BOM).replace(b"\r\n", b"\n"))
        try:
            entries = polib.mofile(str(file)) if compiled else polib.pofile(str(file))
        except Exception as error:  # of damaged data, polib lets any error through: OSError, struct.error, LookupError
            reason = str(error).replace(str(file), "").strip() or type(error).__name__
            raise CorpusError(f"{label} is damaged ({reason}); copy it again, or check it with msgfmt") from error
    if not entries.metadata:
        raise CorpusError(f"{label} has no header, the entry with an empty msgid that names language and encoding")
    return entries


def without_accelerator(text: str, other: str) -> str:
    """Return a message without the mark of its accelerator: `_Open`, `E_xit`, `Save &as`, `بستن (_C)`.

    A mark inside a word that the `other` side has too is part of a name, such as `my_house`.
    """
    text = _MARK_AFTER.sub("", text)
    other_words = set(_WORD.findall(other))
    for word in _WORD.findall(text):
        plain_word = _MARK.sub("", word, count=1)
        if plain_word != word and word not in other_words:
            return text.replace(word, plain_word, 1)
    return text
