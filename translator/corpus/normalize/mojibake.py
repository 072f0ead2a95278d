"""Text that was decoded with the wrong character set, repaired where the bytes leave no doubt."""

import re
from typing import Final

from ftfy import TextFixerConfig, fix_encoding_and_explain
from ftfy.badness import is_bad

_FTFY: Final = TextFixerConfig(explain=True, replace_lossy_sequences=False, fix_c1_controls=False)
"""Lossy sequences stay: a repair that writes U+FFFD is a guess."""
_WHOLE: Final = frozenset(("utf-8", "utf-8-variants"))
_PART: Final = "decode_inconsistent_utf8"
"""What ftfy calls a reading of UTF-8; its exchanges of one single-byte character set for another are less sure."""
_UNEXPECTED: Final = re.compile("[^\x00-\u024f\u0600-\u06ff\u2000-\u20cf]")
"""A part of a text that turns into a foreign script was no UTF-8, but looked like it by chance."""
_CONTROL: Final = re.compile("[\x91-\x94\x96\x97]")
"""Where windows-1252 has quotation marks and dashes; its other signs are not sure enough: U+0085 ends a line."""

# UTF-8 that was read as windows-1256. The lead bytes D8–DB of Persian letters show as ط ظ ع غ, C2 of « and » as آ, and
# E2, which begins ZWNJ and most typographic signs, as â. The bytes that follow are those from 80 to BF.
_LEADS: Final = "طظعغ"
_TRAILS: Final = bytes(range(0x80, 0xC0)).decode("windows-1256")
_TELLING: Final = "".join(
    sign for sign in _TRAILS if not sign.isalpha() and sign not in "،؛؟«»“”‘’…–—\u00a0\u200c\u200d\u00ad"
) + ("ƒŒœˆ")
"""Trails that no text writes after a Persian letter."""
_RUN: Final = re.compile(rf"(?<!\w)(?:[{_LEADS}آ][{_TRAILS}]|â[{_TRAILS}]{{2}})+(?!\w)")
_TOLD: Final = re.compile(f"[{_LEADS}][{_TELLING}]")
_CERTAIN_LETTERS: Final = 3
_PERSIAN: Final = re.compile("[\u0621-\u063a\u0641-\u064aپچژکگی]")

# Every wrong reading of UTF-8 that is repaired here shows one of these; hardly any clean line does.
_SUSPECT: Final = re.compile(f"[\x80-\x9f¬À-\u024f\u0370-\u03ff\u0400-\u04ff√≈∆─-▟{re.escape(_TELLING)}]")


def is_suspect(text: str) -> bool:
    """Tell quickly whether `text` has a character that wrongly decoded text shows: no means that it is clean."""
    return not text.isascii() and _SUSPECT.search(text) is not None


def repair(text: str) -> str:
    """UTF-8 read as another character set is read again: Ø³Ù„Ø§Ù… → سلام, cafÃ© → café, ط³ظ„ط§ظ… → سلام."""
    if not is_suspect(text):
        return text
    if _TOLD.search(text) is not None:
        text = _repair_windows_1256(text)
    if is_bad(text):
        repaired, steps = fix_encoding_and_explain(text, _FTFY)
        names = {step.parameter for step in steps or ()}
        strange = _PART in names and set(_UNEXPECTED.findall(repaired)) - set(text)
        if names & {*_WHOLE, _PART} and not strange:
            text = repaired
    return _CONTROL.sub(_read_control, text)


def _read_control(match: re.Match[str]) -> str:
    return match[0].encode("latin-1").decode("windows-1252")


def _repair_windows_1256(text: str) -> str:
    letters = 0

    def again(match: re.Match[str]) -> str:
        nonlocal letters
        run = match[0]
        if _TOLD.search(run) is None:
            return run
        try:
            read = run.encode("windows-1256").decode("utf-8")
        except UnicodeDecodeError:
            return run
        letters += len(_PERSIAN.findall(read))
        return read

    repaired = _RUN.sub(again, text)
    return repaired if letters >= _CERTAIN_LETTERS else text
