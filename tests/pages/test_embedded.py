"""Scripts and data in a page: no text ends them early, and the policy names the script that is there."""

import base64
import hashlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from translator.pages.embedded import page_data, page_script

NASTY = ["</script>", "<!--", "<script", "\u2028", "\u202e", "\ud800", "\x00", "&amp;", "🙂", "\u200c", "\\u003c"]


@settings(deadline=None)
@given(st.lists(st.text() | st.sampled_from(NASTY)))
def test_data_come_back_and_are_no_markup(texts: list[str]) -> None:
    data = page_data({"texts": texts})
    assert json.loads(data) == {"texts": texts}
    assert not set(data) & set("<>&\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\x00")
    data.encode("utf-8")


def test_persian_and_half_spaces_stay_readable() -> None:
    assert page_data("می\u200cروم") == '"می\u200cروم"'


def test_the_policy_names_the_script() -> None:
    script = page_script("sentences.js")
    digest = base64.b64encode(hashlib.sha256(script.text.encode("utf-8")).digest()).decode()
    assert script.policy == f"'sha256-{digest}'"
    assert len(script.text.splitlines()) <= 300
