"""A page as a browser takes it, and what no page of ours may hold."""

from html.parser import HTMLParser

BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
VOID = ("meta", "link", "img", "input", "br", "wbr")


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}  # by the element that they stand in
        self.text = ""
        self._open: list[str] = []
        self.feed(str(html))  # to Markup, what is read would be added escaped
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self.text += " " if tag in ("td", "dd", "p", "figcaption") else ""
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)
        if "style" not in self._open:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def titles(self) -> list[str]:
        return [attributes["title"] for _, attributes in self.elements if "title" in attributes]


def harmless(html: str, scripts: int) -> Page:
    """Return a page that runs nothing but so many scripts of its own, loads nothing and sends nothing."""
    page = Page(html)
    html.encode("utf-8")
    assert len(page.of("script")) == scripts
    for tag, attributes in page.elements:
        assert tag not in ("img", "iframe", "object", "embed", "link", "base", "form")
        for name in attributes:
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "action")
        assert (attributes.get("href") or "#").startswith("#"), "a link leads to a place on the page"
    for control in BIDI_CONTROLS:
        assert control not in html
    return page
