"""What a result depends on is written down, also where there is no git."""

import json
from pathlib import Path

import torch

from translator.provenance import describe_environment, git_commit


def test_the_environment_is_json() -> None:
    found = json.loads(json.dumps(describe_environment()))
    assert found["versions"]["torch"] == torch.__version__
    assert found["hardware"]["cores"] >= 1
    assert found["command"]


def test_outside_a_checkout_there_is_no_commit(tmp_path: Path) -> None:
    assert git_commit(tmp_path) is None
