"""Charts of curves: to scale, inside the picture, readable for those who cannot see them."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.pages.chart_frame import HEIGHT, WIDTH
from translator.pages.curves import Curve, curve_chart

POINTS = st.lists(
    st.tuples(st.integers(0, 10**7), st.floats(-1e6, 1e6)), min_size=1, max_size=60, unique_by=lambda point: point[0]
).map(sorted)


def chart(*curves: list[tuple[int, float]]) -> ElementTree.Element:
    drawn = [Curve(style, points) for style, points in zip(("first", "second"), curves, strict=False)]
    return ElementTree.fromstring(
        curve_chart(drawn, identity="one", title="<b>", description="what one sees", axis="step")
    )


def places(path: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path.attrib["d"])]


def test_points_are_to_scale() -> None:
    (x0, y0), (x1, y1), (x2, y2) = places(chart([(0, 0.0), (500, 10.0), (1000, 20.0)]).findall("path")[0])
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11)
    assert y2 < y0


def test_the_ground_is_zero_unless_all_is_far_above() -> None:
    for low, ground in ((1.0, "0"), (19.0, "19")):
        first_label = next(text.text for text in chart([(1, low), (2, 20.0)]).iter("text"))
        assert first_label == ground


def test_curves_are_told_apart_by_more_than_colour() -> None:
    svg = chart([(1, 1.0), (2, 2.0)], [(1, 3.0)])
    assert [path.attrib["class"] for path in svg.findall("path")] == ["curve first", "curve second"]
    assert [point.attrib["class"] for point in svg.findall("circle")] == ["point first"] * 2 + ["point second"]


def test_it_tells_what_it_shows() -> None:
    svg = chart([(1, 1.0)])
    named = {element.attrib["id"]: element.text for element in svg.iter() if "id" in element.attrib}
    assert [named[identity] for identity in svg.attrib["aria-labelledby"].split()] == ["<b>", "what one sees"]


@settings(deadline=None)
@given(POINTS, POINTS)
def test_nothing_leaves_the_picture(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> None:
    svg = chart(one, other)
    for path in svg.findall("path"):
        for x, y in places(path):
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
    assert len(svg.findall("line")) <= 7
