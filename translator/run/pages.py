"""HTML pages from templates, with escaped text and named hidden characters."""

import base64
import hashlib
import unicodedata
from functools import cache
from importlib import resources
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape

from translator.run.text import printable

_ZWNJ: Final = "\u200c"
_LOST: Final = "\ufffd"  # the replacement character, for bytes that could not be decoded
_NAMES: Final = {
    "\t": "TAB",
    "\n": "LF",
    "\r": "CR",
    "\u00a0": "NBSP",
    "\u00ad": "SHY",
    "\u200b": "ZWSP",
    "\u200d": "ZWJ",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u202e": "RLO",
    "\ufeff": "BOM",
}
"""Short names of hidden characters; others appear as code points."""
_HIDDEN_CATEGORIES: Final = ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp")


def render_page(template: str, /, **values: Any) -> str:
    """Return the page rendered from `templates/<template>` and `values`; a missing value is an error."""
    return _ENVIRONMENT.get_template(template).render(values) + "\n"


def page_script(name: str) -> Markup:
    """Return the script `templates/<name>`."""
    return Markup(resources.files("translator").joinpath("templates", name).read_text(encoding="utf-8"))


def _script_hash(script: Markup) -> Markup:
    """Return the expression for a Content-Security-Policy that allows `script` inside a page, and no other script."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return Markup("'sha256-{}'").format(base64.b64encode(digest).decode("ascii"))


def visible(text: str) -> Markup:
    """Return `text` as HTML with a mark for every hidden character; a ZWNJ becomes a thin bar."""
    return Markup("".join(map(_shown, text)))


@cache
def _shown(character: str) -> Markup:
    """Return one character as HTML, with a mark and its Unicode name if it is hidden or lost."""
    is_hidden = character != " " and unicodedata.category(character) in _HIDDEN_CATEGORIES
    if not is_hidden and character != _LOST:
        return escape(character)

    # A reader sees a short mark; the title shows the Unicode name when the pointer is over the mark.
    code = f"U+{ord(character):04X}"
    title = f"{unicodedata.name(character, 'control character').lower()} ({code})"
    # ZWNJ is frequent in Persian, so its mark is thin and leaves the shape of the word.
    if character == _ZWNJ:
        return Markup('<span class="zwnj" title="{}">{}</span>').format(title, _ZWNJ)
    mark = Markup('<bdi class="{}" dir="ltr" title="{}">{}</bdi>')
    if is_hidden:
        return mark.format("mark", title, _NAMES.get(character, code))
    return mark.format("mark lost", title, _LOST)


def _percent(share: float, digits: int = 1) -> str:
    """Return a share between 0 and 1 as a percentage; a small share is never shown as zero."""
    smallest_shown = 10**-digits
    if 0 < 100 * share < smallest_shown / 2:
        return f"<{smallest_shown:.{digits}f}%"
    return f"{share:.{digits}%}"


def _finished(value: Any) -> Any:
    """Return a value of a template for output: text is escaped as by `printable`, HTML stays."""
    is_plain_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value) if is_plain_text else value


_ENVIRONMENT: Final = jinja2.Environment(
    loader=jinja2.PackageLoader("translator"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    finalize=_finished,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"number": "{:,}".format, "percent": _percent, "script_hash": _script_hash, "visible": visible}
