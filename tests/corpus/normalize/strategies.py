"""Texts rich in all that the normalizer looks at, and configurations with every switch at random."""

from typing import Final

from hypothesis import strategies as st

from translator.config import NormalizationConfig

_CHARACTERS: Final = (
    "ابهویيىكکةۀهمیآأإئؤپچژگطظعغ",
    "\u200c\u200c\u200d\u200e\u200b\u00ad\ufeff\u061c\x00\x1f\u0640\u00a0\u2028\u0085\t\r   ",
    "\u064b\u064e\u0651\u0653\u0654\u0655\u0670\u06d6\u06dd",
    ".,:;!?،؛؟…«»()[]{}",
    "“”„‟‘’‚‛′″\"'`´‹›",
    "-–—‐‑‒―−%@&$",
    "0٣۵9aZéstnd",
    "ﷲ﷼ﷺﻻﻛﺘﹱﹰﱞﳲ﴾ﯾ",
    "ÃØ³Ùâ€Œ©Âž\x9d\x81\x93",
    "😀👍🏽字नα",
)
_PIECES: Final = (
    *("Ø³Ù„Ø§Ù…", "ط³ظ„ط§ظ…", "â€Œ", "cafÃ©", "''", "``", "&amp;", "&quot;", "&#91;", "&zwnj;", "@-@", "-LRB-"),
    *(" 's", " n't", "gon na", "می ", "نمی ", " ها", " تر", "\u200cبود", " . . ", "الا´ن", ";x", "x,;", " $ 5"),
    *(" ' ", ' " ', " -- ", "--", "d ' ar", ' " s '),
)
TEXTS: Final = st.lists(
    st.one_of(st.sampled_from([*"".join(_CHARACTERS), *_PIECES, *_PIECES]), st.characters(exclude_categories=["Cs"])),
    max_size=25,
).map("".join)
CONFIGS: Final = st.fixed_dictionaries(
    {
        key: st.booleans()
        if field.annotation is bool
        else st.sampled_from(["keep", "strip"] if key == "vowel_marks" else ["keep", "persian", "ascii"])
        for key, field in NormalizationConfig.model_fields.items()
    }
).map(NormalizationConfig.model_validate)
NOTHING: Final[dict[str, object]] = {
    key: False if field.annotation is bool else "keep" for key, field in NormalizationConfig.model_fields.items()
}
"""Every switch off."""
