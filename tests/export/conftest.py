"""Subword models of real text, a model that has learnt a little, and a run: what all tests of exports share."""

import shutil
from pathlib import Path

import pytest

from tests.support.export_stand_ins import sample_pairs, small_run
from tests.support.sentences import trained
from translator.config import SubwordConfig
from translator.run.folder import RunFolder
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE, SubwordPair

SETTINGS = SubwordConfig(vocabulary_size=420, byte_fallback=True)


@pytest.fixture(scope="session")
def subword_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("subword")
    pairs = sample_pairs("train")[:800]
    trained([english for english, _ in pairs], SETTINGS, folder / SOURCE_FILE)
    trained([persian for _, persian in pairs], SETTINGS, folder / TARGET_FILE)
    return folder


@pytest.fixture(scope="session")
def joint_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joint")
    texts: list[str] = []
    for pair in sample_pairs("train")[:800]:
        texts += pair
    trained(texts, SETTINGS.model_copy(update={"joint": True}), folder / JOINT_FILE)
    return folder


@pytest.fixture(scope="session")
def subword(subword_folder: Path) -> SubwordPair:
    return SubwordPair.load(subword_folder)


@pytest.fixture(scope="session")
def joint(joint_folder: Path) -> SubwordPair:
    return SubwordPair.load(joint_folder)


@pytest.fixture(scope="session")
def shared_run(subword_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run that was never trained; to be read only."""
    return small_run(tmp_path_factory.mktemp("shared"), subword_folder)


@pytest.fixture
def run(shared_run: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy of the shared run, in `tmp_path`/run."""
    shutil.copytree(shared_run.path, tmp_path / "run", symlinks=True)
    return RunFolder(tmp_path / "run")
