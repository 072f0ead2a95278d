"""What each picture shows, checked against the model, the search or the batches it is made from."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from untrained import untrained_run

from translator import Translator
from translator.cli import main
from translator.config import TrainingConfig
from translator.data import DataHandler
from translator.errors import InputError, StorageError
from translator.model.cache import DecoderCache
from translator.plots import check_picture, write_picture
from translator.plots.attention import BeamHistory, look
from translator.plots.pictures import EpochRows, epoch_rows, schedule_figure


@pytest.fixture
def run(tiny: Any) -> Path:
    overrides = ("model.encoder_layers=2", "model.decoder_layers=2", "search.method=beam", "search.beam_size=3")
    return untrained_run(tiny(*overrides, "search.max_length_ratio=2.0")).path


def test_plotted_attention_equals_that_of_the_translator(run: Path) -> None:
    expected = Translator.load(run, engine="torch").attention("abc de")
    found = look(run, "abc de")
    assert (found.looking, found.looked_at) == (expected.target, expected.source)
    ((title, weights),) = found.panels().items()
    assert title == "layer 2, mean of 2 heads"
    assert np.allclose(weights, expected.weights, atol=1e-6)
    decoder = look(run, "abc", kind="decoder")
    assert decoder.looking[0] == "<s>"
    assert not np.triu(decoder.weights, 1).any(), "no position looks ahead"
    assert look(run, "abc", kind="encoder").looking == Translator.load(run).attention("abc").source
    with pytest.raises(InputError, match="the text has no words"):
        look(run, " ")


@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(st.integers(0, width - 1), min_size=width, max_size=width), max_size=5)
    )
)
def test_each_row_of_a_beam_attends_to_its_own_branch_only(parents: list[list[int]]) -> None:
    width = len(parents[0]) if parents else 3
    whole = np.array([list(range(width)), *parents])
    history = BeamHistory(whole)
    cache = DecoderCache([], torch.ones(1, 1, 1, 1, dtype=torch.bool), 1, width, torch.float32)
    biases = cache.begin_step()
    for rows in whole[1:]:
        cache.select(torch.from_numpy(rows))
        biases = cache.begin_step()
    if biases.decoder is None:  # the first position: all rows are equal
        assert history.allowed().all()
    else:
        allowed_by_cache = (biases.decoder == 0).view(width, len(whole), width).numpy()
        assert np.array_equal(history.allowed(), allowed_by_cache)


def test_the_rows_of_an_epoch_hold_every_pair_once(tiny: Any) -> None:
    config = tiny()
    rows = epoch_rows(config)
    pairs = DataHandler(config).prepare().pair_count("train")
    assert rows.source_sentence.max(axis=1).sum() == pairs
    assert rows.target_sentence.max(axis=1).sum() == pairs


def test_fullness_is_the_share_of_tokens_in_each_row() -> None:
    rows = EpochRows(np.array([[1, 1, 2, 0], [1, 0, 0, 0]]), np.array([[1, 2, 2, 2], [1, 1, 0, 0]]))
    assert rows.fullness().tolist() == [[0.75, 0.25], [1.0, 0.5]]


def test_drawn_rows_are_spread_over_the_epoch() -> None:
    numbers = np.arange(1, 10)[:, None]
    assert EpochRows(numbers, numbers).spread(3).source_sentence.tolist() == [[1], [5], [9]]


@pytest.mark.parametrize(("name", "beginning"), [("a.png", b"\x89PNG"), ("A.SVG", b"<?xml")])
def test_picture_bytes_do_not_depend_on_matplotlib_settings(tmp_path: Path, name: str, beginning: bytes) -> None:
    settings = {"a": TrainingConfig(max_steps=40, warmup_steps=8)}
    write_picture(schedule_figure(settings), tmp_path / name)
    first = (tmp_path / name).read_bytes()
    with mpl.rc_context({"lines.linewidth": 9, "figure.facecolor": "red", "font.size": 30}):
        write_picture(schedule_figure(settings), tmp_path / name)
    assert first.startswith(beginning)
    assert (tmp_path / name).read_bytes() == first


def test_unwritable_picture_paths_are_refused(tmp_path: Path) -> None:
    for name in ("a.pdf", "picture"):
        with pytest.raises(InputError, match=r"must end in \.png or \.svg"):
            check_picture(tmp_path / name)
    with pytest.raises(StorageError, match="nowhere"):
        check_picture(tmp_path / "nowhere" / "a.png")


def test_plot_commands_write_their_picture_or_refuse_wrong_arguments(
    tiny: Any, tiny_recipe: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learned = untrained_run(tiny("model.positions=learned", f"run.directory={tmp_path}/learned")).path
    of_run, recipe = ["--run", str(run)], ["--config", str(tiny_recipe)]
    output = tmp_path / "a.svg"
    for arguments in (
        ["attention", *of_run, "abc", "--layer", "1", "--head", "all", "--kind", "encoder"],
        ["cache", *of_run, "abc", "--beam", "2", "--step", "3"],
        ["positions", *of_run, "--length", "20"],
        ["positions", "--run", str(learned), "--length", "20"],
        ["positions", *recipe, "--length", "9"],
        ["schedule", *recipe, *recipe, "--set", "training.schedule=cosine", "training.learning_rate=0.1"],
        ["batches", *recipe],
        ["masks"],
    ):
        output.unlink(missing_ok=True)
        assert main(["plot", *arguments, "--output", str(output)]) == 0, arguments
        assert output.read_bytes().startswith(b"<?xml")
    for arguments, message in (
        (["curves", str(tmp_path / "none")], "no run at"),
        (["curves", str(run), "--smooth", "0"], "give a number of at least 1"),
        (["positions", *of_run, "--set", "model.d_model=8"], "leave them out"),
    ):
        capsys.readouterr()
        assert main(["plot", *arguments, "--output", str(output)]) == 2
        assert message in capsys.readouterr().err


def test_a_link_to_a_file_of_another_kind_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("x", encoding="utf-8")
    (tmp_path / "a.png").symlink_to("mine.yaml")
    with pytest.raises(InputError, match=r"is a link to .*mine\.yaml, which is no picture"):
        check_picture(tmp_path / "a.png")
