"""Messages of programs as files to translate: accelerators and format strings."""

from pathlib import Path

import pytest
import yaml

from translator.inference.files.messages import Messages, numbered_formats, same_formats, without_mark

EXAMPLES = yaml.safe_load(Path(__file__).with_name("messages.yaml").read_text(encoding="utf-8"))


def test_accelerators_and_format_strings_are_as_their_examples_say() -> None:
    for message, text, mark in EXAMPLES["marks"]:
        assert without_mark(message) == (text, mark)
    for message, text in EXAMPLES["numbered"]:
        assert numbered_formats(message)[0] == text
    for message, translation, survive in EXAMPLES["formats"]:
        assert same_formats(message, translation) == survive, message


@pytest.mark.parametrize(("forms", "texts"), [(1, ["{1} books"]), (2, ["A book", "{1} books"])])
def test_the_singular_is_translated_for_the_first_of_several_forms(
    forms: int, texts: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "app.po"
    header = f'msgid ""\nmsgstr "Plural-Forms: nplurals={forms}; plural=0;\\n"\n\n'
    file.write_text(header + 'msgid "A book"\nmsgid_plural "%d books"\nmsgstr[0] ""\n', encoding="utf-8")
    assert Messages(file).texts == texts
