"""The repair of mojibake: UTF-8 that was decoded as another character set.

`repair_decoding` may never give other results, except where ftfy changes (see `rules.kept`).
"""

import contextlib
import re
from typing import Final

from ftfy import TextFixerConfig, fix_encoding_and_explain
from ftfy.badness import is_bad

from translator.corpus.normalizer.rules import kept

# Lossy sequences stay, because a repair that writes U+FFFD is a guess.
_FTFY: Final = TextFixerConfig(explain=True, replace_lossy_sequences=False, fix_c1_controls=False)
# The repairs of ftfy that decode as UTF-8. Its repairs between two single-byte character sets are less certain.
_READ_AS_UTF_8: Final = frozenset(("utf-8", "utf-8-variants", "decode_inconsistent_utf8"))
# Text that a repair turns into a foreign script only looked like UTF-8 by chance.
_UNEXPECTED: Final = re.compile("[^\x00-\u024f\u0600-\u06ff\u2000-\u20cf]")
# Quotation marks and dashes of windows-1252. Its other signs are not certain: U+0085 is also a line end.
_CONTROL: Final = re.compile("[\x91-\x94\x96\x97]")

# UTF-8 that was read as windows-1256. The lead bytes D8–DB of Persian letters show as ط ظ ع غ, C2 of « and » as آ, and
# E2 of ZWNJ and most typographic signs as â. The bytes that follow are those from 80 to BF.
_TRAILS: Final = bytes(range(0x80, 0xC0)).decode("windows-1256")
# Trail bytes that never follow a Persian letter in correct text.
_EVIDENCE: Final = "".join(
    sign for sign in _TRAILS if not sign.isalpha() and sign not in "،؛؟«»“”‘’…–—\u00a0\u200c\u200d\u00ad"
) + ("ƒŒœˆ")
_WRONG_RUN: Final = re.compile(rf"(?<!\w)(?:[طظعغآ][{_TRAILS}]|â[{_TRAILS}]{{2}})+(?!\w)")
_EVIDENT: Final = re.compile(f"[طظعغ][{_EVIDENCE}]")
_PERSIAN_LETTER: Final = re.compile("[\u0621-\u063a\u0641-\u064aپچژکگی]")

# All mojibake that is repaired here has one of these characters; few clean lines do.
SUSPECT: Final = f"\x80-\x9f¬À-\u024f\u0370-\u03ff\u0400-\u04ff√≈∆─-▟{re.escape(_EVIDENCE)}"
"""These characters, as the inside of a class of a regular expression."""
_SUSPECT: Final = re.compile(f"[{SUSPECT}]")


def is_suspect(text: str) -> bool:
    """Return whether `text` may be wrongly decoded, by a fast test; False means that it is clean."""
    return not text.isascii() and _SUSPECT.search(text) is not None


@kept("repair_decoding-1", signs=_SUSPECT.findall("".join(map(chr, range(0x10000)))))
def repair_decoding(text: str) -> str:
    """Repair UTF-8 that was decoded as another character set: Ø³Ù„Ø§Ù… → سلام, cafÃ© → café, ط³ظ„ط§ظ… → سلام."""
    if not is_suspect(text):
        return text
    if _EVIDENT.search(text) is not None:
        text = _repair_windows_1256(text)
    if is_bad(text):
        repaired, steps = fix_encoding_and_explain(text, _FTFY)
        step_names = {step.parameter for step in steps or ()}
        # The repair of a part of the text is wrong if it brings foreign characters into it.
        foreign_signs = "decode_inconsistent_utf8" in step_names and set(_UNEXPECTED.findall(repaired)) - set(text)
        if step_names & _READ_AS_UTF_8 and not foreign_signs:
            text = repaired
    return _CONTROL.sub(lambda match: match[0].encode("latin-1").decode("windows-1252"), text)


def _repair_windows_1256(text: str) -> str:
    """Repair UTF-8 that was decoded as windows-1256."""
    letters = 0  # Persian ones, in all repaired runs

    def decoded_again(run: re.Match[str]) -> str:
        nonlocal letters
        with contextlib.suppress(UnicodeDecodeError):  # a run that is not UTF-8 stays
            if _EVIDENT.search(run[0]) is not None:
                decoded = run[0].encode("windows-1256").decode("utf-8")
                letters += len(_PERSIAN_LETTER.findall(decoded))
                return decoded
        return run[0]

    repaired = _WRONG_RUN.sub(decoded_again, text)
    return repaired if letters >= 3 else text  # fewer may be chance
