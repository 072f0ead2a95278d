"""Placeholders: text to copy unchanged passes through the model as one piece (Luong et al. 2015 §3).

Placeholders replace numbers, codes, addresses, emoji and what looks like a program in the source. The model places each
placeholder in the translation, where the copied text then replaces it. Placeholders are characters of Unicode's private
use area, and pieces of both vocabularies.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from translator.subword.markup import SINGLE_TAG

MOST_PLACEHOLDERS: Final = 16
PLACEHOLDERS: Final = "".join(map(chr, range(0xE000, 0xE000 + MOST_PLACEHOLDERS)))
PLACEHOLDERS_VERSION: Final = 4  # increased when the choice or the numbers of replaced parts change

# --- parts that normalization must not change ---

_DOMAINS: Final = "com|org|net|edu|gov|info|io|ir|co|ai"
_FILES: Final = "csv|docx?|exe|gz|html?|jpe?g|js|json|md|mp3|mp4|pdf|png|pptx?|py|tar|txt|xlsx?|xml|ya?ml|zip"
_ROOTS: Final = "bin|boot|dev|etc|home|lib|mnt|opt|proc|root|run|srv|sys|tmp|usr|var"
_NO_ADDRESS: Final = "\x00-\x20\x7f-\xa0\u2000-\u206f\u3000<>\"'«»،؛؟"  # spaces, controls, quotation marks, dashes
_ADDRESS: Final = (
    rf"(?:[^{_NO_ADDRESS}()]|\([^{_NO_ADDRESS}()]*\))+(?<=[\w/#=&%+~)-])"  # excludes a punctuation mark at its end
)
_PICTURE: Final = "[\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff]"
EMOJI: Final = (
    rf"{_PICTURE}(?:[\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d{_PICTURE})*|[0-9#*]\ufe0f?\u20e3"
)
_IN_PATH: Final = r"[\w.+@-]"
_PATH_END: Final = r"(?<=[\w/+-])"  # no full stop
_EXACT: Final = "|".join(
    (
        r"(?<!\w)(?i:(?:https?|ftp)://|www\.(?=[\w-]+\.))" + _ADDRESS,  # https://example.org/a?b=c
        r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.(?:[a-z0-9-]+|[A-Z0-9-]+))+\b",  # a.b@example.org
        # example.org/a: a capital after the dot starts a sentence.
        rf"(?<![\w@./-])(?:[\w-]+\.)+(?:{_DOMAINS}|{_DOMAINS.upper()})\b(?:\.[a-z]{{2}}\b)?(?::\d+)?(?:[/?#](?:{_ADDRESS})?)?",
        rf"(?<![\w@./-])(?:[\w-]+\.)+(?:be|gl|ly|me|to)/{_ADDRESS}",  # t.me/name
        r"(?<![\w@.])@[A-Za-z_]\w+(?:\.\w+)*(?:@[\w-]+(?:\.[\w-]+)+)?",  # @name
        r"(?<![\w&/#])#\w*[^\W\d_]\w*",  # #topic
        r"(?<![\w`])`(?!\s)[^`\n]+(?<!\s)`(?![\w`])",  # `code`
        SINGLE_TAG,  # <br/>, </b>, <0>
        r"(?<![\d%])%(?:\d+\$|\(\w+\))?[-+#0]?\d*(?:\.\d+)?(?:hh?|ll?|[qjzt])?[diouxXeEfgGcrsa@](?![A-Za-z])",  # %1$s
        r"\{\{[^{}\n]{1,80}\}\}|[$#]?\{[\w.:!\[\]-]*\}",  # {{count}}, {name}, ${name}
        rf"(?<![\w/.-])(?:\.{{1,2}}/)?(?:[\w-]+/)*[\w.-]*\w\.(?i:{_FILES})\b",  # data/report.pdf
        rf"(?<![\w./~<>-])(?:~/|/(?:{_ROOTS})\b|/{_IN_PATH}+/)[\w.+@/-]*{_PATH_END}",  # ~/notes, /etc/hosts
        # C:\a b\c
        r"(?<!\w)(?:[A-Za-z]:|\\\\[\w.-]+)\\(?:[^\\/:*?\"<>|\n,;!]{1,80}\\)*[^\\/:*?\"<>|\s,;!)]*(?<=[\w\\$~-])",
        rf"(?:{EMOJI})+",
        "[①-⓿❶-➓]+",  # ①
    )
)

# --- numbers and codes: after normalization ---

_SPACE: Final = "[ \xa0\u2007\u2009\u202f]"
_DASH: Final = "[-‐‑‒–—−]"
_LETTER: Final = "[A-Za-z_]"
_UNIT: Final = r"(?:[a-z]+|[AP]M|ST|[NR]D|TH)(?![A-Za-z\d_])"  # kg, am, AM, th, s
_END: Final = rf"(?:(?![A-Za-z\d_])|(?={_UNIT}))"
_PHONE: Final = rf"(?<![\w+])\+\d{{1,4}}(?:[ .\xa0-]?\(\d{{1,5}}\)|(?:(?<=\))|{_SPACE}|[.-])\d{{2,}}+)+"
"""+98 21 8877 6655"""
_GROUPS: Final = "|".join(
    (
        rf"\((?:0\d{{1,4}}|\d{{3}})\){_SPACE}?\d{{3,}}+(?:(?:{_SPACE}|-)\d{{2,}}+)*",  # (021) 8877 6655
        rf"[0٠۰]\d{{1,4}}(?:{_SPACE}\d{{2,}}+)+(?:-\d{{2,}}+)*",  # 0912 345 6789
        rf"\d{{4}}(?:{_SPACE}\d{{4}}){{3,}}(?!\d)",  # 4539 1488 0343 6467
        rf"(?![0٠۰])\d{{1,3}}(?:{_SPACE}\d{{3}})+(?!\d)(?:[.,٫]\d++)?",  # 150 000
        rf"\d++{_SPACE}\d{{1,2}}/\d{{1,2}}(?![/\d])",  # 3 1/2
        rf"\d++(?:[.,:/٫٬'’×]\d++)*{_SPACE}?[¼-¾⅐-⅞]",  # 3½
        r"\d++(?:[.,:/٫٬'’×]\d++)*|[¼-¾⅐-⅞]",  # 1,200; 10:30; 23/11/2026
    )
)
_SIGN: Final = r"(?:(?<![\w.)\]%])[-+−±]?\.?)?"  # and the point of .5
_ONE_NUMBER: Final = rf"(?:{_PHONE}|{_SIGN}(?<![A-Za-z\d_])(?:{_GROUPS}))"
_NUMBER: Final = rf"{_ONE_NUMBER}(?:(?:{_DASH}|{_SPACE}{_DASH}{_SPACE}){_ONE_NUMBER})*{_END}"
"""A number, or a range, as in 10–20."""
_JOINED: Final = rf"(?:[-./:](?={_LETTER}*\d)[A-Za-z\d_]+)*"
"""What belongs to the same code, as in v2.0."""
_RAISED: Final = "[⁺⁻₊₋]?[⁰¹²³⁴-⁹₀-₉]+"
_CODE: Final = "|".join(
    (
        rf"\d++(?:[.,]\d++)?(?:{_RAISED}|[eE][-+−]?\d++(?![A-Za-z\d_]))",  # 10⁵, 1.5e-6
        rf"(?:[A-Za-z]{{1,3}}{_RAISED})+[A-Za-z]*",  # m², H₂O
        # IR06 0170 0000 0010 0324 2000 01
        rf"[A-Z]{{2}}\d\d(?:{_SPACE}[A-Z]{{4}})?(?:{_SPACE}(?=[A-Z]*\d)[A-Z\d]{{4}}){{2,7}}(?:{_SPACE}\d{{1,4}})?\b",
        r"\d{4}-\d\d-\d\dT\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?(?![\w])",  # 2026-11-28T10:30:00Z
        rf"[A-Z]++-(?=[A-Z]*\d)[A-Za-z\d_]+{_JOINED}",  # UTF-8
        rf"(?!\d++{_UNIT})(?=\d*+{_LETTER}++\d|\d++{_LETTER})[A-Za-z\d_]+{_JOINED}",  # B12, 4K; but not 5kg
    )
)
_NUMBER_OR_CODE: Final = rf"(?<![A-Za-z\d_])(?:{_CODE})|{_NUMBER}"

_BEFORE_NORMALIZATION: Final = re.compile(_EXACT)
_AFTER_NORMALIZATION: Final = re.compile(_NUMBER_OR_CODE)
_COPIED: Final = re.compile(f"{_EXACT}|{_NUMBER_OR_CODE}")
_WHOLE_NUMBER: Final = re.compile(_NUMBER)
_LIST: Final = re.compile(rf"(?:{_NUMBER_OR_CODE})(?:[^\w\ue000-\ue0ff]{{1,3}}(?:{_NUMBER_OR_CODE}))*")  # 1, 2, 3
_UNIT_WORD: Final = re.compile(rf"(?!(?:s|st|[nr]d|th)\b){_UNIT}")  # a word of its own; an ending stays with its number
_HINT: Final = re.compile(r"[\d@{<%`#~\\/¼-¾⅐-⅞¹²³⁰-⁹₀-₉]|\.(?=\w)")
_SAME: Final = str.maketrans(
    "٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹٫٬‐‑‒–—−\xa0\u2007\u2009\u202f", "0123456789" * 2 + ".," + "-" * 6 + " " * 4
)
_ANY: Final = re.compile(f"[{PLACEHOLDERS}]")
END_MARKS: Final = ".!?…؟۔"
_AFTER_MARK: Final = re.compile(rf"([{END_MARKS}])((?: ?[{PLACEHOLDERS}])+)$")
_WITH_SPACES: Final = re.compile(f"(?<! ) *[{PLACEHOLDERS}]")  # from the first of its spaces: linear in their number
_LAST_MARKS: Final = re.compile(rf"""(?<![\s{END_MARKS}])[\s{END_MARKS}]*+(?:(?<=[{END_MARKS}])[»”"')\]]*+)?\s*$""")


def _may_have(text: str) -> bool:
    """Return False if `text` has nothing to copy and no placeholder; five times faster than the full search."""
    return max(text, default="") >= "\u20e3" or bool(_HINT.search(text))


def is_number(part: str) -> bool:
    """Return whether a copied part is a number, which each language writes in its own digits."""
    return _WHOLE_NUMBER.fullmatch(part) is not None


def with_ascii_digits(number: str) -> str:
    """Return a number with ASCII digits, separators, dashes and spaces; its length stays."""
    return number.translate(_SAME)


def _number_with_ascii_digits(part: str) -> str:
    """Return a copied part in the form that is equal in both languages."""
    return with_ascii_digits(part) if is_number(part) else part


def things_to_copy(text: str) -> list[str]:
    """Return the parts of `text` that enough placeholders would replace; numbers have ASCII digits."""
    if not _may_have(text):
        return []
    return [_number_with_ascii_digits(match[0]) for match in _COPIED.finditer(text)]


def cut_out(
    text: str,
    placeholders: Sequence[str],
    normalize: Callable[[str], str] = str,
    terms: re.Pattern[str] | None = None,
) -> tuple[str, dict[str, str]]:
    """Return the normalized `text` with `placeholders`, in order, for the parts to copy; and the part of each.

    Placeholders already in `text` are removed. With too few of them, neighbouring numbers share one; if that is not
    enough, the last numbers stay in the text.

    Args:
        text: a sentence.
        placeholders: all that the model has; with none, the text is only normalized.
        normalize: changes all but addresses, emoji and code.
        terms: what else to cut out of the normalized text, before numbers.

    >>> text, copied = cut_out("See www.example.org, or call +98 21 8877 6655.", PLACEHOLDERS)
    >>> print(ascii(text), copied)
    'See \\ue000, or call \\ue001.' {'\ue000': 'www.example.org', '\ue001': '+98 21 8877 6655'}
    """
    # Most texts have nothing to cut out, nor a placeholder to remove.
    if not placeholders or (terms is None and not _may_have(text)):
        return normalize(text), {}
    copied: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        """Return the next placeholder for a part, and record the part; without a free one, the part itself."""
        if len(copied) == len(placeholders):
            return match[0]
        placeholder = placeholders[len(copied)]
        copied[placeholder] = match[0]
        return placeholder + _space_before_unit(match)

    # 1. What must stay exact is cut out before the text is normalized; terms and numbers after it, as in training.
    text = _ANY.sub("", text)
    text = normalize(_BEFORE_NORMALIZATION.sub(replaced, text))
    if terms is not None:
        text = terms.sub(replaced, text)
    # With too few placeholders, each replaces a whole list of numbers.
    has_enough = len(_AFTER_NORMALIZATION.findall(text)) <= len(placeholders) - len(copied)
    text = (_AFTER_NORMALIZATION if has_enough else _LIST).sub(replaced, text)

    # 2. Rename the placeholders: after several rounds of cutting, they are not in the order of the text.
    new_names = dict(zip(_ANY.findall(text), placeholders, strict=False))  # old placeholder to new one
    renamed = {new_names[placeholder]: copied[placeholder] for placeholder in new_names}
    return text.translate(str.maketrans(new_names)), renamed


def _space_before_unit(number: re.Match[str]) -> str:
    """Return the space that parts a number from the unit that touches it, so that 5kg is read as 5 kg."""
    return " " if number[0][-1].isdecimal() and _UNIT_WORD.match(number.string, number.end()) else ""


def without_copied_parts(text: str) -> str:
    """Return `text` without the parts that enough placeholders would replace."""
    return _COPIED.sub("", text) if _may_have(text) else text


def change_numbers(text: str, change: Callable[[str], str]) -> str:
    """Return `text` with each number in digits as `change` returns it; those inside addresses and emoji stay."""

    def changed(match: re.Match[str]) -> str:
        return change(match[0]) if is_number(match[0]) else match[0]

    return _COPIED.sub(changed, text)


def cut_out_unreadable(
    text: str, unreadable: Collection[str], copied: Mapping[str, str], placeholders: Sequence[str]
) -> tuple[str, dict[str, str]]:
    """Return `text` with placeholders for runs of unreadable characters, and the mapping from placeholder to part.

    Neighbouring words of unreadable letters are one run. A run that touches a placeholder joins its part. Without a
    free placeholder, a run of signs becomes a space, so that the model does not have to spell it in bytes.

    Args:
        text: with the placeholders of `copied`.
        unreadable: the characters to cut out, signs and letters.
        copied: placeholder to part, of the parts that are cut out already.
        placeholders: all that the model has.

    >>> text, copied = cut_out_unreadable("It is €\ue000 → cheap", "€→", {"\ue000": "20"}, PLACEHOLDERS)
    >>> print(ascii(text), copied)
    'It is \\ue000 \\ue001 cheap' {'\ue000': '€20', '\ue001': '→'}
    """
    parts = dict(copied)
    if not unreadable:
        return text, parts

    # 1. A pattern of a run: words of letters, with spaces or half-spaces between them, or signs. A degree sign takes
    # the C or F after it along.
    letters = "".join(sorted(filter(str.isalpha, unreadable)))
    signs = "".join(sorted(set(unreadable).difference(letters)))
    alternatives: list[str] = []
    if letters:
        alternatives.append(f"[{letters}]+(?:[ \u200c][{letters}]+)*")
    if signs:
        sign = f"[{re.escape(signs)}]"
        alternatives.append(rf"(?:°[CF]\b|{sign})+" if "°" in signs else f"{sign}+")
    run = "|".join(alternatives)

    # 2. A run that touches a placeholder joins its part.
    def joined(match: re.Match[str]) -> str:
        """Return the placeholder alone; add the runs before and after it to the text that it stands for."""
        before, placeholder, after = match.groups(default="")
        parts[placeholder] = before + parts[placeholder] + after
        return placeholder

    if parts:
        text = re.sub(f"({run})?([{''.join(parts)}])({run})?", joined, text)

    # 3. Every other run gets a placeholder of its own, while there are free ones.
    free_placeholders = [placeholder for placeholder in placeholders if placeholder not in parts]

    def replaced(match: re.Match[str]) -> str:
        """Return a free placeholder for a run; without one, a space for signs, and letters as they are."""
        if not free_placeholders:
            return match[0] if match[0][0] in letters else " "
        placeholder = free_placeholders.pop(0)
        parts[placeholder] = match[0]
        return placeholder

    return re.sub(run, replaced, text), parts


def hide(text: str, copied: Mapping[str, str]) -> str:
    """Return `text` with a placeholder for each part of `copied` that it contains, in any digits.

    If there is anything to hide, placeholders already in `text` are removed.
    """
    if not copied:
        return text
    text = _ANY.sub("", text)
    # The parts that are not hidden yet; each is hidden once. Those that are numbers have ASCII digits.
    remaining_parts = {placeholder: _number_with_ascii_digits(part) for placeholder, part in copied.items()}

    # 1. Parts with signs, such as €20, which `_COPIED` does not match as a whole.
    for placeholder, part in copied.items():
        if _COPIED.fullmatch(part):
            continue
        # The change of digits keeps all lengths, so `start` is the same place in `text`.
        start = with_ascii_digits(text).find(with_ascii_digits(part))
        if start >= 0:
            text = text[:start] + placeholder + text[start + len(part) :]
            del remaining_parts[placeholder]

    # 2. All others. `_COPIED` matches none that is only a part of a word or of a longer number.
    def hidden(match: re.Match[str]) -> str:
        """Return the placeholder of a part that remains and is equal in other digits; else the part itself."""
        for placeholder, part in remaining_parts.items():
            if part == _number_with_ascii_digits(match[0]):
                del remaining_parts[placeholder]
                return placeholder + _space_before_unit(match)
        return match[0]

    return _COPIED.sub(hidden, text)


def cut_out_of_pair(source: str, target: str, placeholders: Sequence[str]) -> tuple[str, str]:
    """Return both sides of a training pair with a placeholder for each part to copy that both contain."""
    source_parts = things_to_copy(source)
    shared = Counter(source_parts) & Counter(things_to_copy(target))  # each as often as the side that has fewer

    # The parts of both sides in the order of the source, as `cut_out` numbers them.
    shared_parts = []
    for part in source_parts:
        if shared[part] > 0:
            shared[part] -= 1
            shared_parts.append(part)
    copied = dict(zip(placeholders, shared_parts, strict=False))
    return hide(_ANY.sub("", source), copied), hide(_ANY.sub("", target), copied)


def put_back(text: str, copied: Mapping[str, str], source: str = "") -> str:
    """Return a translation with each part of `copied` in place of its placeholder.

    Parts whose placeholder is missing come before the mark that ends the text, in their order. So do parts after that
    mark, if `source` ends with a mark. Unknown and repeated placeholders are removed.
    """
    # 1. Move placeholders that stand after the last mark to the place before it.
    if source.rstrip().endswith(tuple(END_MARKS)):
        text = _AFTER_MARK.sub(r"\2\1", text)

    # 2. Put missing placeholders before the last mark, too.
    present = set(_ANY.findall(text))
    missing = [placeholder for placeholder in copied if placeholder not in present]
    if missing:
        text = _LAST_MARKS.sub(lambda marks: f" {' '.join(missing)}{marks[0].strip()}", text, count=1)

    # 3. Put all parts back, each once.
    remaining_parts = dict(copied)

    def restored(match: re.Match[str]) -> str:
        """Return the part of a placeholder, with the spaces before it; nothing for an unknown or repeated one."""
        placeholder = match[0][-1]
        if placeholder not in remaining_parts:
            return ""
        spaces = match[0][:-1]
        return spaces + remaining_parts.pop(placeholder)

    return _WITH_SPACES.sub(restored, text).lstrip(" ")


def lost_digits(source: str, translation: str) -> Counter[str]:
    """Return the digits of `source`, as 0 to 9, that `translation` has less often, in any digits."""
    return _digits(source) - _digits(translation)


def _digits(text: str) -> Counter[str]:
    return Counter(filter(str.isdecimal, with_ascii_digits(text)))
