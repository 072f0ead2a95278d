"""Without the extra there is a word on how to get it."""

import sys

import pytest

from translator.errors import InputError
from translator.serve import check_installed


@pytest.mark.parametrize("name", ["fastapi", "uvicorn"])
def test_a_missing_library_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf'{name} cannot be imported .* pip install "fastapi>='):
        check_installed()
