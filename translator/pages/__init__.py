"""Pages for a browser: self-contained HTML with charts, where no text of a corpus is taken for markup or obeyed."""

from translator.pages.charts import Series, Tick, bar, histogram
from translator.pages.curves import Curve, curve_chart
from translator.pages.embedded import Script, page_data, page_script
from translator.pages.environment import render_page
from translator.pages.visible import plain, visible

__all__ = [
    "Curve",
    "Script",
    "Series",
    "Tick",
    "bar",
    "curve_chart",
    "histogram",
    "page_data",
    "page_script",
    "plain",
    "render_page",
    "visible",
]
