"""Messages of programs (PO) to translate: untranslated ones are filled, and marked fuzzy for a person to check."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from translator.corpus.reading.languages import language_of
from translator.corpus.reading.messages import read_messages
from translator.corpus.reading.packing import read_blocks
from translator.errors import InputError
from translator.run.logging import LOGGER

_PLURALS: Final = {"fa": "nplurals=2; plural=(n > 1);", "en": "nplurals=2; plural=(n != 1);"}
_PLURAL_COUNT: Final = re.compile(r"\s*nplurals\s*=\s*([1-6])\b")
_FORMAT: Final = re.compile(
    r"%%|%(?:\d+\$|\([^()]*\)|<(?!PRI))?[-+#0']*(?:\d+|\*)?(?:\.(?:\d+|\*))?"
    r"(?:<PRI\w+>|(?:hh?|ll?|[qjztL])?[A-Za-z@])|%\d+"
    r"|\$?\{[^{}]*\}|&lt;[^&]*&gt;|&#?\w+;"
)
"""Format strings of C, Python, Qt and others, and entities with their tags (`&lt;b&gt;`): programs read them."""
_FORMATS: Final = re.compile(rf"(?:{_FORMAT.pattern})+")
_NUMBERED: Final = re.compile(r"(\{\d+\})")  # what the model copies in their place
_NAMED: Final = re.compile(r"%(?:\d+\$|\(|\d+\Z)|\$?\{[^{}]|&")  # may change their order: %1$s, %(name)s, %1, {name}
_MARK: Final = re.compile(r"(?<!\S)([^\W\d_]*)([_&~])([^\W\d_]+)(?=[\s.…:!?,]|$)")
_EDGES: Final = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
_LONGEST_MENU: Final = 3  # words of a message that may have a mark inside a word: `E_xit`, but also `my_house`


class Messages:
    """A PO file, whose untranslated messages are translated line by line.

    Attributes:
        texts: the lines of these messages, without accelerators, and with numbered format strings.
    """

    def __init__(self, source: Path) -> None:
        """Read a file.

        Raises:
            CorpusError: the file is damaged, or has no header.
            InputError: it has translations into another language, or polib is missing.
        """
        self._source = source
        self._entries = read_messages(read_blocks(source), str(source), compiled=False)
        language = self._entries.metadata.get("Language", "")
        if language and language_of(language) is None:
            raise InputError(
                f"{source} has translations into another language: its header says `Language: {language[:20]}`; "
                "give a file of English or Persian, or the template of the program (.pot)"
            )
        stated_count = _PLURAL_COUNT.match(self._entries.metadata.get("Plural-Forms", ""))
        self._plural_count = int(stated_count[1]) if stated_count else 0  # 0 if the header does not state it
        self._work: list[tuple[Any, dict[int | None, str]]] = []  # each entry to fill, with its `_empty_forms`
        self.texts: list[str] = []
        for entry in self._entries.untranslated_entries():
            messages = self._empty_forms(entry)
            if messages:
                self._work.append((entry, messages))
            for message in messages.values():
                unmarked, _ = without_mark(message)
                text, _ = numbered_formats(unmarked)
                self.texts += [line.strip() for line in text.split("\n")]

    def _empty_forms(self, entry: Any) -> dict[int | None, str]:
        """Return the messages of an entry that have no translation, by plural form; None for one without plural."""
        if not entry.msgid_plural:
            return {None: entry.msgid}
        form_count = self._plural_count or 2
        # The entry gets each of the forms, also those that its file lacks.
        entry.msgstr_plural = {form: entry.msgstr_plural.get(form, "") for form in range(form_count)}
        messages: dict[int | None, str] = {}
        for form, translation in entry.msgstr_plural.items():
            if not translation:
                # The first of several forms is the singular.
                messages[form] = entry.msgid if form == 0 and form_count > 1 else entry.msgid_plural
        return messages

    def written(self, translations: Sequence[str], language: str) -> str:
        """Return the file with the translations of `texts`, and log how many messages are filled.

        Args:
            translations: of each of the `texts`.
            language: code of the language of the translations, such as `fa`.
        """
        # 1. Fill the entries whose format strings all survive. The messages of the others take their lines, too.
        lines = iter(translations)
        filled = 0
        for entry, messages in self._work:
            translated = {form: _with_lines(message, lines) for form, message in messages.items()}
            if not all(same_formats(message, translated[form]) for form, message in messages.items()):
                continue
            filled += 1
            entry.flags.insert(0, "fuzzy")
            for form, translation in translated.items():
                if form is None:
                    entry.msgstr = translation
                else:
                    entry.msgstr_plural[form] = translation
        LOGGER.info(
            "%s: %d messages are filled and marked fuzzy, %d are left, since their format strings did not survive",
            self._source,
            filled,
            len(self._work) - filled,
        )

        # 2. The header says what the file is now.
        header = self._entries.metadata
        header["Language"] = language
        header["Content-Type"] = "text/plain; charset=UTF-8"
        # Without a count in the header, each message got the forms of the usual rule, which the header now names.
        if not self._plural_count:
            header["Plural-Forms"] = _PLURALS[language]
        self._entries.metadata_is_fuzzy = 0  # the header of a template is fuzzy until it is filled in
        return str(self._entries)


def _with_lines(message: str, translations: Iterator[str]) -> str:
    """Return the translation of a message, put together from the next `translations`, one of each of its lines."""
    unmarked, key = without_mark(message)
    text, formats = numbered_formats(unmarked)
    translated = "\n".join(_with_edges(line, next(translations)) for line in text.split("\n"))
    # Whatever the model itself wrote in braces has no format string, and stays.
    parts = _NUMBERED.split(translated)
    translated = "".join(formats.get(part, part) for part in parts)
    return _with_key(translated, key) if key else translated


def without_mark(message: str) -> tuple[str, str]:
    """Return a message without the mark of its accelerator, and the mark with its letter in capitals.

    >>> without_mark("_Open…"), without_mark("Salt & pepper"), without_mark("The name my_house is taken")
    (('Open…', '_O'), ('Salt & pepper', ''), ('The name my_house is taken', ''))
    """
    marks = list(_MARK.finditer(message))
    if len(marks) != 1:
        return message, ""
    before, mark, after = marks[0].groups()
    # A mark inside a word is part of a name, such as AT&T or my_house, unless this looks like an entry of a menu.
    if before and (after[0].isupper() or len(message.split()) > _LONGEST_MENU):
        return message, ""
    return message[: marks[0].end(1)] + message[marks[0].start(3) :], mark + after[0].upper()


def numbered_formats(message: str) -> tuple[str, dict[str, str]]:
    """Return a message with each run of format strings as a numbered one, which the model copies; and what they were.

    >>> numbered_formats("%d%% of {name}")
    ('{1} of {2}', {'{1}': '%d%%', '{2}': '{name}'})
    """
    formats: dict[str, str] = {}

    def numbered(run: re.Match[str]) -> str:
        number = f"{{{len(formats) + 1}}}"
        formats[number] = run[0]
        return number

    return _FORMATS.sub(numbered, message), formats


def _with_key(text: str, key: str) -> str:
    """Return a translation with its accelerator in brackets, before a mark at its end: `باز کردن (_O)…`."""
    return re.sub(r"\s*([:.…؟!]*\s*)\Z", lambda end: f" ({key}){end[1]}", text, count=1)


def _with_edges(line: str, translation: str) -> str:
    """Return a translation with the white space at the ends of its source `line`."""
    edges = _EDGES.fullmatch(line)
    assert edges
    return edges[1] + translation.strip() + edges[3]


def same_formats(message: str, translation: str) -> bool:
    """Return whether both have the same format strings, and those without a name or number in the same order."""
    formats = [_FORMAT.findall(text) for text in (message, translation)]
    unnamed = [[part for part in parts if not _NAMED.match(part)] for parts in formats]
    return sorted(formats[0]) == sorted(formats[1]) and unnamed[0] == unnamed[1]
