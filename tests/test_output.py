"""What is printed is UTF-8, whatever the locale says."""

import os
import subprocess
import sys


def test_text_that_the_locale_does_not_know() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "translator", "--help"]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    assert "English→Persian" in done.stdout.decode("utf-8")
