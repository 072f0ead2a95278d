"""A process with too little address space ends with one message, before a library ends it."""

import resource
import subprocess
import sys
from collections.abc import Callable

import pytest

from translator.errors import InputError
from translator.run.memory import check_address_space

MIB = 1 << 20


def limit_to(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def run_limited(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "translator", *arguments],
        preexec_fn=limit_to(300 * MIB),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_verb_with_too_little_address_space_ends_with_one_message() -> None:
    done = run_limited("translate", "--run", "runs/none", "Thank you.")
    assert done.returncode == 2
    assert done.stderr == (
        "translator: this shell allows a process 300 MiB of address space, and the libraries alone (torch, "
        "ctranslate2) need 1,024 MiB; raise the limit with: ulimit -v unlimited\n"
    )


def test_help_needs_little_address_space() -> None:
    assert run_limited("--help").returncode == 0


def test_a_limit_that_suffices_is_accepted() -> None:
    check_address_space(1024 * MIB)


def test_a_smaller_limit_is_refused() -> None:
    with pytest.raises(InputError, match="allows a process 1,023 MiB"):
        check_address_space(1023 * MIB)
