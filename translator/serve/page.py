"""The page, its style, its script and its icon."""

from translator.pages import page_script, render_page
from translator.serve.schema import Model


def page(model: Model) -> str:
    """Return the HTML; it names its other files and holds none of them."""
    return render_page("serve.html.j2", model=model)


def style() -> str:
    """Return the style, which is that of the reports and what this page has more."""
    return render_page("serve.css.j2")


def script() -> str:
    """Return the script."""
    return str(page_script("serve.js").text)


def icon() -> str:
    """Return the icon, as SVG."""
    return render_page("serve_icon.svg.j2")
