"""Texts are cut at the ends of sentences, and nowhere else; nothing is lost."""

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from translator.inference.text.sentences import split_sentences

CUT = "¦"  # marks the end of a sentence in the list of cases
CASES = Path(__file__).with_name("sentence_boundaries.txt").read_text(encoding="utf-8").splitlines()


def with_cuts(text: str) -> str:
    marked = ""
    for sentence in split_sentences(text):
        marked += CUT * bool(marked) + sentence.before + sentence.text
    return marked


def test_at_most_one_in_a_hundred_texts_is_cut_at_a_wrong_place() -> None:
    wrong_texts = [case for case in CASES if with_cuts(case.replace(CUT, "")) != case]
    assert len(CASES) >= 380
    assert len(wrong_texts) <= len(CASES) / 100, wrong_texts


def test_names_of_code_stay_whole() -> None:
    text = "Use java.util.List, lib/foo.Bar, user_name.First and a@b.Com here."
    assert with_cuts(text) == text


@given(st.text(alphabet="aB1 .!?…؟\"')(»-\n\t\u2028", max_size=60) | st.text(max_size=60))
@example("a. \n  B. \u00a0C.\r\nd\re\x85f\u2028g\u2029h")
def test_sentences_and_the_white_space_between_them_restore_the_text(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join(sentence.before + sentence.text for sentence in sentences) == text.strip()
    for sentence in sentences:
        assert sentence.text.strip() == sentence.text != ""
        assert len(sentence.text.splitlines()) == 1, "a line break ends a sentence"
