"""What a verb says when it must fail."""

import pytest

from translator.cli import main


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a verb that must fail, and return its one message; progress bars above it do not count."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err[captured.err.rindex("translator: ") :]
