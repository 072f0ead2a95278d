"""How pages are made of templates: everything is escaped, and a value that is missing is an error."""

from typing import Any, Final

import jinja2
from markupsafe import Markup

from translator.pages.visible import plain, visible


def render_page(template: str, /, **values: Any) -> str:
    """Return the page that `templates/<template>` makes of `values`.

    Text is escaped, and its hidden characters, direction controls among them, are shown by name: `visible`, `plain`.
    """
    return _ENVIRONMENT.get_template(template).render(values) + "\n"


def _finalize(value: Any) -> Any:
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _number(count: int) -> str:
    return f"{count:,}"


def _percent(share: float, digits: int = 1) -> str:
    """Return a share between 0 and 1 as a percentage; what is more than nothing is never shown as nothing."""
    least = 10**-digits
    percentage = 100 * share
    return f"<{least:.{digits}f}%" if 0 < percentage < least / 2 else f"{percentage:.{digits}f}%"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("translator.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "percent": _percent, "visible": visible}
    return environment


_ENVIRONMENT: Final = _environment()
