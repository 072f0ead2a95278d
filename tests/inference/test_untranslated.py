"""What a model cannot translate comes back as it is: text without words or in another script, and lone signs."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.echo_model import Words, echo
from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN
from translator.corpus.normalizer.normalizer import Normalizer
from translator.subword.placeholders import PLACEHOLDERS


class FewSigns(Words):
    """Words, and no signs but the comma and the full stop."""

    def has_sign(self, sign: str) -> bool:
        return sign in ",."

    def has_pieces(self, text: str) -> bool:
        return text.isascii()


@pytest.mark.parametrize(
    ("languages", "texts", "message"),
    [
        ((ENGLISH, PERSIAN), ["Hello.", "Привет. Yes.", "", "你好 12"], "lines 12, 14: text that is not in Latin"),
        ((PERSIAN, ENGLISH), ["سلام.", "Привет. بله.", "", "Hello 12"], "lines 12, 14: text that is not in Arabic"),
    ],
)
def test_sentences_in_another_script_are_copied_with_one_warning(
    languages: Any, texts: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    translator, model = echo()
    translator.normalizer = Normalizer(NormalizationConfig(), languages)
    assert [best.text for (best,) in translator.translations(texts, first_line=11)] == texts
    assert sum(rows for rows, _ in model.shapes) == 2, "only the readable sentences are translated"
    (logged,) = caplog.messages
    assert logged.startswith(message)


def test_signs_that_the_vocabulary_lacks_are_copied_by_placeholders_or_beside_the_sentence() -> None:
    translator, _ = echo(source=FewSigns(PLACEHOLDERS[:2]))
    for text in ("• Open it.", "It is 😂 ▪ ▪", "a → b", "   a b", "the man is Иван Ли"):
        assert translator.translate(text) == text
    assert "→" not in translator.subword.source.words  # type: ignore[attr-defined]
    assert echo(source=FewSigns())[0].translate("• a → b ©") == "• a b ©", "left out without placeholders"


def test_a_forced_prefix_may_repeat_signs_that_are_copied_before_the_sentence() -> None:
    translator, _ = echo(source=FewSigns())
    for prefix in ("• Open", "Open"):
        ((best,),) = translator.translations(["• Open it."], prefixes=[prefix])
        assert best.text == "• Open it."


class Selective(Words):
    """Words of which the model has no pieces for `Zzz.`"""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return super().encode([text.replace("Zzz.", "") for text in texts])


def test_a_sentence_of_which_no_piece_is_left_is_copied() -> None:
    assert echo(source=Selective())[0].translate("Zzz.  We go. Zzz.") == "Zzz.  We go. Zzz."
