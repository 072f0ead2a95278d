"""Templates: escaping is on for all of them, missing values are errors, numbers are written for people."""

import jinja2
import pytest
from markupsafe import Markup

from translator.pages import environment as module

ENVIRONMENT = module._ENVIRONMENT


def render(source: str, **values: object) -> str:
    return ENVIRONMENT.from_string(source).render(values)


def test_text_is_escaped() -> None:
    assert render("<b>{{ text }}</b>", text="<script>&\"'") == "<b>&lt;script&gt;&amp;&#34;&#39;</b>"
    assert render("{{ text | visible }}", text="<script>") == "&lt;script&gt;"


def test_markup_of_our_own_is_not() -> None:
    assert render("{{ chart }}", chart=Markup("<svg></svg>")) == "<svg></svg>"


def test_direction_controls_never_reach_the_page() -> None:
    assert render('<i title="{{ text }}">', text='\u202e"') == '<i title="⟨RLO⟩&#34;">'


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="nobody"):
        render("{{ nobody }}")


@pytest.mark.parametrize(
    ("share", "shown"), [(0, "0.0%"), (1, "100.0%"), (0.1234, "12.3%"), (0.0004, "<0.1%"), (0.0006, "0.1%")]
)
def test_percentages(share: float, shown: str) -> None:
    assert render("{{ share | percent }}", share=share) == shown.replace("<", "&lt;")


def test_numbers() -> None:
    assert render("{{ 1234567 | number }} {{ 0.99987654 | percent(3) }}") == "1,234,567 99.988%"
