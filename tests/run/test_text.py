"""Control characters are escaped, and Persian text is not."""

from translator.run.text import excerpt, printable


def test_controls_are_escaped_and_persian_is_not() -> None:
    assert printable("نامه‌ای\n\tx") == "نامه‌ای\n\tx"
    assert (
        printable("a\x1b[31m\r\x9b\u202e\u2066\u200f\ud800\u2028") == r"a\x1b[31m\r\x9b\u202e\u2066\u200f\ud800\u2028"
    )
    assert excerpt("a\nb\x07", 10) == r"a\nb\x07"
