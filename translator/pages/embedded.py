"""Scripts and data inside a page: the script is known to the page by its hash, and data are never taken for markup."""

import base64
import hashlib
import json
import re
from importlib import resources
from typing import Any, Final, NamedTuple

from markupsafe import Markup

_UNSAFE: Final = re.compile(
    r"[<>&\u007f-\u009f\u00ad\u061c\u180e\u200b\u200d-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
"""What HTML or old scripts would interpret, what would turn the text of the file around, and what UTF-8 cannot say."""


class Script(NamedTuple):
    """A script to put between its tags as it is."""

    text: Markup
    policy: str
    """The source expression that lets a Content-Security-Policy run this script and no other."""


def page_script(name: str) -> Script:
    """Return the script `templates/<name>`."""
    text = resources.files("translator.pages").joinpath("templates", name).read_text(encoding="utf-8")
    assert "</script" not in text.lower() and "<!--" not in text, "it would end before its end"
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return Script(Markup(text), f"'sha256-{digest}'")


def page_data(value: Any) -> Markup:
    """Return `value` as JSON that can stand inside a script element: no character of it is markup, or hidden."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))
