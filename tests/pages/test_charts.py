"""Charts: well-formed, to scale, and readable for those who cannot see them."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.pages.chart_frame import HEIGHT, WIDTH
from translator.pages.charts import Series, Tick, bar, histogram


def chart(*counts: list[int], title: str = "title", axis: str = "words") -> ElementTree.Element:
    series = [Series(style, one) for style, one in zip(("english", "persian"), counts, strict=False)]
    html = histogram(
        series,
        identity="one",
        title=title,
        description="what one sees",
        axis=axis,
        ticks=[Tick(0.5, "1"), Tick(2, "<2")],
    )
    return ElementTree.fromstring(html)


def columns(path: ElementTree.Element) -> list[tuple[float, float]]:
    """Return the height of each column in the chart, and its right edge."""
    drawn = path.attrib["d"]
    ground = float(drawn.split(" ")[1].split("V")[0])
    return [(ground - float(y), float(x)) for y, x in re.findall(r"V([\d.]+)H([\d.]+)", drawn)]


def texts(svg: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in svg.iter("text")]


def test_columns_are_to_scale() -> None:
    svg = chart([10, 20, 10, 0])
    heights = [height for height, _ in columns(svg.findall("path")[0])]
    assert heights[0] == heights[2] == pytest.approx(heights[1] / 2, abs=0.1)
    assert heights[3] == 0
    edges = [edge for _, edge in columns(svg.findall("path")[0])]
    assert edges[-1] <= WIDTH
    assert edges[1] - edges[0] == pytest.approx(edges[3] - edges[2], abs=0.1)
    assert [text for text in texts(svg) if "%" in text] == ["0%", "20%", "40%", "60%"]


def test_each_series_is_a_share_of_itself() -> None:
    small, large = chart([1, 3], [100, 300]).findall("path")
    assert columns(small) == columns(large)
    one, many = chart([0, 1], [0, 7]).findall("path")
    assert columns(one) == columns(many)
    assert (small.attrib["class"], large.attrib["class"]) == ("english", "persian")


def test_it_tells_what_it_shows() -> None:
    svg = chart([1, 2, 3], title='<script>"', axis="words & more")
    assert svg.attrib["role"] == "img"
    identities = svg.attrib["aria-labelledby"].split()
    named = {element.attrib["id"]: element.text for element in svg.iter() if "id" in element.attrib}
    assert [named[identity] for identity in identities] == ['<script>"', "what one sees"]
    assert texts(svg)[-3:] == ["1", "<2", "words & more"]


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=101))
def test_nothing_leaves_the_picture(counts: list[int]) -> None:
    svg = chart(counts)
    for height, edge in columns(svg.findall("path")[0]):
        assert 0 <= height <= HEIGHT
        assert 0 <= edge <= WIDTH
    marks = [text for text in texts(svg) if "%" in text]
    assert 2 <= len(marks) <= 5
    assert len(set(marks)) == len(marks)


def test_bar() -> None:
    parts = list(ElementTree.fromstring(bar([("train", 0.75), ("gone", 0.25)])))
    assert [part.attrib["class"] for part in parts] == ["train", "gone"]
    assert [(part.attrib["x"], part.attrib["width"]) for part in parts] == [("0", "750"), ("750", "250")]


def test_direction_controls_in_a_title_are_shown_by_name() -> None:
    svg = chart([1], title="a\u202eb")
    assert "a⟨RLO⟩b" in [element.text for element in svg.iter()]
