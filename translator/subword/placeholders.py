"""Placeholders: text to copy unchanged passes through the model as one piece (Luong et al. 2015 §3).

Placeholders replace web addresses, e-mail addresses, handles, file names, emoji and numbers in digits in the source.
The model places each placeholder in the translation, where the copied text then replaces it. Placeholders are
characters of Unicode's private use area, and pieces of both vocabularies.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

MOST_PLACEHOLDERS: Final = 16
PLACEHOLDERS: Final = "".join(map(chr, range(0xE000, 0xE000 + MOST_PLACEHOLDERS)))
PLACEHOLDERS_VERSION: Final = 2  # increased when the choice of replaced parts changes

_DOMAINS: Final = "com|org|net|edu|gov|info|io|ir|co|ai"
_FILES: Final = "csv|docx?|exe|gz|html?|jpe?g|js|json|md|mp3|mp4|pdf|png|pptx?|py|tar|txt|xlsx?|xml|ya?ml|zip"
_NO_ADDRESS: Final = "\x00-\x20\x7f-\xa0\u2000-\u206f\u3000<>\"'«»،؛؟"  # spaces, controls, quotation marks, dashes
_ADDRESS: Final = (
    rf"(?:[^{_NO_ADDRESS}()]|\([^{_NO_ADDRESS}()]*\))+(?<=[\w/#=&%+~)-])"  # excludes a punctuation mark at its end
)
_PICTURE: Final = "[\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff]"
_EMOJI: Final = (
    rf"{_PICTURE}(?:[\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d{_PICTURE})*|[0-9#*]\ufe0f?\u20e3"
)
_DIGIT: Final = "[0-9٠-٩۰-۹]"
_NUMBER: Final = rf"(?<!\w)(?<!\w[.,:/-]){_DIGIT}+(?:[.,:/٫٬-]{_DIGIT}+)*(?!\w|[.,:/-]\w)"  # not 22nd, v2.0 or 5-year
_COPIED: Final = re.compile(
    rf"(?<!\w)(?:(?:https?|ftp)://|www\.(?=[\w-]+\.)){_ADDRESS}"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.(?-i:[a-z0-9-]+|[A-Z0-9-]+))+\b"  # e-mail addresses
    # Web addresses without a scheme: a capital after the dot starts a sentence.
    rf"|(?<![\w@./-])(?:[\w-]+\.)+(?-i:{_DOMAINS}|{_DOMAINS.upper()})\b(?:\.(?-i:[a-z]{{2}})\b)?(?::\d+)?(?:[/?#](?:{_ADDRESS})?)?"
    rf"|(?<![\w@./-])(?:[\w-]+\.)+(?-i:be|gl|ly|me|to)/{_ADDRESS}"
    r"|(?<![\w@.])@[a-z_]\w+(?:\.\w+)*(?:@[\w-]+(?:\.[\w-]+)+)?"  # handles
    rf"|(?<![\w/.-])(?:\.{{1,2}}/)?(?:[\w-]+/)*[\w.-]*\w\.(?:{_FILES})\b"  # names of files
    rf"|(?:{_EMOJI})+"
    rf"|{_NUMBER}",
    re.IGNORECASE,
)
_DIGIT_OR_INNER_DOT: Final = re.compile(rf"{_DIGIT}|\.(?=\w)")
_TO_ASCII: Final = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹٫٬", "0123456789" * 2 + ".,")
_ANY: Final = re.compile(f"[{PLACEHOLDERS}]")
_WITH_SPACES: Final = re.compile(f"(?<! ) *[{PLACEHOLDERS}]")  # from the first of its spaces: linear in their number


def _may_have(text: str) -> bool:
    """Return False if `text` has nothing to copy and no placeholder; five times faster than the full search."""
    return "@" in text or "://" in text or max(text, default="") >= "\u20e3" or bool(_DIGIT_OR_INNER_DOT.search(text))


def is_number(part: str) -> bool:
    """Return whether a copied part is a number, which each language writes in its own digits."""
    return re.fullmatch(_NUMBER, part) is not None


def with_ascii_digits(number: str) -> str:
    """Return a number with ASCII digits and separators."""
    return number.translate(_TO_ASCII)


def _same_digits(part: str) -> str:
    """Return a copied part in the form that is equal in both languages."""
    return with_ascii_digits(part) if is_number(part) else part


def things_to_copy(text: str) -> list[str]:
    """Return the parts of `text` that enough placeholders would replace; numbers have ASCII digits."""
    if not _may_have(text):
        return []
    return [_same_digits(match[0]) for match in _COPIED.finditer(text)]


def cut_out(text: str, placeholders: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return `text` with `placeholders`, in order, for the parts to copy; and a mapping from placeholder to part.

    Placeholders already in `text` are removed. If there are too few placeholders, the last parts stay in the text.

    >>> text, copied = cut_out("See www.example.org, or write to info@example.org.", PLACEHOLDERS)
    >>> print(ascii(text), copied)
    'See \\ue000, or write to \\ue001.' {'\ue000': 'www.example.org', '\ue001': 'info@example.org'}
    """
    copied: dict[str, str] = {}
    if not placeholders or not _may_have(text):
        return text, copied

    def replaced(match: re.Match[str]) -> str:
        if len(copied) == len(placeholders):
            return match[0]
        placeholder = placeholders[len(copied)]
        copied[placeholder] = match[0]
        return placeholder

    without_placeholders = _ANY.sub("", text)
    return _COPIED.sub(replaced, without_placeholders), copied


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

    # 1. A pattern of the runs. A degree sign belongs to its C or F.
    letters = "".join(sorted(filter(str.isalpha, unreadable)))
    signs = "".join(sorted(set(unreadable).difference(letters)))
    runs: list[str] = []
    if letters:
        runs.append(f"[{letters}]+(?:[ \u200c][{letters}]+)*")
    if signs:
        sign = f"[{re.escape(signs)}]"
        runs.append(rf"(?:°[CF]\b|{sign})+" if "°" in signs else f"{sign}+")
    run = "|".join(runs)

    # 2. A run that touches a placeholder joins its part.
    def joined(match: re.Match[str]) -> str:
        before, placeholder, after = match.groups(default="")
        parts[placeholder] = before + parts[placeholder] + after
        return placeholder

    if parts:
        text = re.sub(f"({run})?([{''.join(parts)}])({run})?", joined, text)

    # 3. Every other run gets a placeholder of its own, while there are free ones.
    free_placeholders = [placeholder for placeholder in placeholders if placeholder not in parts]

    def replaced(match: re.Match[str]) -> str:
        if not free_placeholders:
            return match[0] if match[0][0] in letters else " "
        placeholder = free_placeholders.pop(0)
        parts[placeholder] = match[0]
        return placeholder

    return re.sub(run, replaced, text), parts


def hide(text: str, copied: Mapping[str, str]) -> str:
    """Return `text`, a translation, with a placeholder for each part of `copied` that it contains, in any digits."""
    if not copied:
        return text
    text = _ANY.sub("", text)
    remaining_parts = {placeholder: _same_digits(part) for placeholder, part in copied.items()}

    # 1. Parts with signs, such as €20, which `_COPIED` does not match as a whole.
    for placeholder, part in copied.items():
        if _COPIED.fullmatch(part):
            continue
        # Numbers keep their length when their digits change, so the place is the same in `text`.
        start = with_ascii_digits(text).find(with_ascii_digits(part))
        if start >= 0:
            text = text[:start] + placeholder + text[start + len(part) :]
            del remaining_parts[placeholder]

    # 2. All others, only where they are no part of a word or a longer number.
    def hidden(match: re.Match[str]) -> str:
        for placeholder, part in remaining_parts.items():
            if part == _same_digits(match[0]):
                del remaining_parts[placeholder]
                return placeholder
        return match[0]

    return _COPIED.sub(hidden, text)


def cut_out_of_pair(source: str, target: str, placeholders: Sequence[str]) -> tuple[str, str]:
    """Return both sides of a training pair with a placeholder for each part to copy that both contain."""
    source_parts = things_to_copy(source)
    target_parts = things_to_copy(target)

    # The parts of both sides, as often as the side that has fewer, in the order of the source.
    shared_parts = list((Counter(source_parts) & Counter(target_parts)).elements())
    shared_parts.sort(key=source_parts.index)
    copied = dict(zip(placeholders, shared_parts, strict=False))
    return hide(_ANY.sub("", source), copied), hide(_ANY.sub("", target), copied)


def put_back(text: str, copied: Mapping[str, str]) -> str:
    """Return a translation with each part of `copied` in place of its placeholder, or appended if that is missing.

    Unknown and repeated placeholders are removed.
    """
    missing_parts = dict(copied)

    def restored(match: re.Match[str]) -> str:
        placeholder = match[0][-1]
        if placeholder not in missing_parts:
            return ""
        spaces = match[0][:-1]
        return spaces + missing_parts.pop(placeholder)

    text = _WITH_SPACES.sub(restored, text)
    return " ".join([text, *missing_parts.values()]).lstrip(" ")
