"""Files of pictures: equal bytes for equal figures, and only names that end in .png or .svg."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from translator.errors import StorageError
from translator.plots.attention import attention_figure
from translator.plots.picture import check_picture, write_picture


@pytest.mark.parametrize(("name", "beginning"), [("a.png", b"\x89PNG"), ("A.SVG", b"<?xml")])
def test_picture_bytes_do_not_depend_on_matplotlib_settings(tmp_path: Path, name: str, beginning: bytes) -> None:
    picture = tmp_path / name
    maps = [[("layer 1, head 1", np.full((2, 1), 0.5, np.float32))]]
    write_picture(attention_figure(["▁در", "</s>"], ["</s>"], maps, "cross"), picture)
    first_bytes = picture.read_bytes()
    assert first_bytes.startswith(beginning)

    with mpl.rc_context({"lines.linewidth": 9, "figure.facecolor": "red", "font.size": 30}):
        write_picture(attention_figure(["▁در", "</s>"], ["</s>"], maps, "cross"), picture)
    assert picture.read_bytes() == first_bytes


def test_a_picture_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        check_picture(tmp_path / "nowhere" / "a.png")
