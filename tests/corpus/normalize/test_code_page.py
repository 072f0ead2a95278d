"""The fast table gives what looking up each character gives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.normalize.code_page import CharacterTable

IMAGES = {"ي": "ی", "a": "b", "b": "", "ک": "long", "z": "☃", "☃": "q", "۱": "1", "\u200c": "", "é": "ё"}
TEXTS = st.text(st.one_of(st.sampled_from("abczيیکۀ۱1☃\u200cé؟ \n"), st.characters(exclude_categories=["Cs"])))


@settings(deadline=None)
@given(TEXTS)
def test_table_is_a_lookup_of_each_character(text: str) -> None:
    table = CharacterTable(lambda character: IMAGES.get(character, character))
    assert table(text) == "".join(IMAGES.get(character, character) for character in text)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abcيیکۀ۱1☃"), st.text("abcيیکۀ۱1☃", max_size=2)), TEXTS)
def test_any_table(images: dict[str, str], text: str) -> None:
    table = CharacterTable(lambda character: images.get(character, character))
    assert table(text) == "".join(images.get(character, character) for character in text)
