"""Texts that a caller gives, checked before anything is translated."""

from collections.abc import Iterable

from translator.errors import InputError


def checked_texts(texts: Iterable[str], name: str) -> list[str]:
    """Return `texts` as a list; raise InputError, with the argument's `name`, for an item that is not valid text."""
    # A text is a sequence of texts, its characters, so a forgotten list would be translated letter by letter.
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        kind = type(texts).__name__
        raise InputError(f"{name} must be a list of texts, not of type {kind}; for one text, use translate(text)")
    listed = list(texts)
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(f"{name}[{index}] is of type {type(text).__name__}, not str; decode or convert it first")
        # Python's texts can hold what no file can; better to say so now than when the output is written.
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"{name}[{index}] has a lone surrogate (half a character) at position {error.start}, which UTF-8 "
                "cannot write; remove it"
            ) from None
    return listed
