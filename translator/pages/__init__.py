"""Pages for a browser: self-contained HTML with charts, where no text of a corpus is taken for markup or obeyed."""

from translator.pages.charts import Series, Tick, bar, histogram
from translator.pages.environment import render_page
from translator.pages.visible import plain, visible

__all__ = ["Series", "Tick", "bar", "histogram", "plain", "render_page", "visible"]
