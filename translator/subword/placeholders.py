"""Placeholders: what is copied as it stands passes through the model as one piece (Luong et al. 2015 §3).

A web address, an e-mail address, a handle, a file name or an emoji is cut out of the source, and a placeholder takes
its place. The model puts the placeholder where it belongs in the translation, and the copied text goes back there.
Placeholders are characters of Unicode's private use area, each a piece of its own in both vocabularies.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

MOST_PLACEHOLDERS: Final = 16
PLACEHOLDERS: Final = "".join(map(chr, range(0xE000, 0xE000 + MOST_PLACEHOLDERS)))

_DOMAINS: Final = "com|org|net|edu|gov|info|io|ir|co|uk|de|fr|ai|app|dev|tv"
_FILES: Final = "csv|docx?|exe|gz|html?|jpe?g|js|json|md|mp3|mp4|pdf|png|pptx?|py|tar|txt|xlsx?|xml|ya?ml|zip"
_PICTURE: Final = "[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff]"
_EMOJI: Final = rf"{_PICTURE}(?:[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|\u200d{_PICTURE})*"
_ADDRESS: Final = r"(?:[^\s<>\"'«»،؛؟()]|\([^\s()]*\))+(?<=[\w/#=&%+~)-])"  # marks at its end belong to the sentence
_COPIED: Final = re.compile(
    rf"(?:[a-z][a-z0-9+.-]*://|www\.){_ADDRESS}"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # e-mail addresses
    rf"|(?<![\w@.-])(?:[a-z0-9-]+\.)+(?:{_DOMAINS})\b(?:/(?:{_ADDRESS})?)?"  # web addresses without a scheme
    r"|(?<![\w@])@\w{2,}"  # handles
    rf"|(?<![\w/.-])[\w/-]*\w\.(?:{_FILES})\b"  # names of files
    rf"|{_EMOJI}(?: ?{_EMOJI})*",
    re.IGNORECASE | re.ASCII,
)
_ANY: Final = re.compile(f"[{PLACEHOLDERS}]")
_WITH_SPACES: Final = re.compile(f" *[{PLACEHOLDERS}]")


def cut_out(text: str, placeholders: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return `text` with `placeholders`, in their order, for what is to be copied; and what each stands for.

    Placeholders that stand in `text` already are removed. With fewer placeholders than things to copy, the last of
    these stay.

    >>> text, copied = cut_out("See www.example.org, or write to info@example.org.", PLACEHOLDERS)
    >>> print(ascii(text), copied)
    'See \\ue000, or write to \\ue001.' {'\ue000': 'www.example.org', '\ue001': 'info@example.org'}
    """
    copied: dict[str, str] = {}

    def placeholder(found: re.Match[str]) -> str:
        if len(copied) == len(placeholders):
            return found[0]
        copied[placeholders[len(copied)]] = found[0]
        return placeholders[len(copied) - 1]

    return _COPIED.sub(placeholder, _ANY.sub("", text)), copied


def hide(text: str, copied: Mapping[str, str]) -> str:
    """Return `text`, a translation, with a placeholder for each thing of `copied` that stands in it."""
    text = _ANY.sub("", text)
    for placeholder, thing in copied.items():
        text = text.replace(thing, placeholder, 1)
    return text


def cut_out_of_pair(source: str, target: str, placeholders: Sequence[str]) -> tuple[str, str]:
    """Return both sides of a training pair with a placeholder for each thing to copy that stands on both."""
    things = [found[0] for found in _COPIED.finditer(source) if found[0] in target]
    shared = dict(zip(placeholders, things, strict=False))
    return hide(source, shared), hide(target, shared)


def put_back(text: str, copied: Mapping[str, str]) -> str:
    """Return a translation with each thing of `copied` in the place of its placeholder.

    A thing whose placeholder is missing stands at the end, since it must not be lost. A placeholder that stands for
    nothing, or comes a second time, is removed.
    """
    left = dict(copied)
    text = _WITH_SPACES.sub(lambda found: found[0][:-1] + left.pop(found[0][-1]) if found[0][-1] in left else "", text)
    return " ".join([text, *left.values()]).lstrip(" ")
