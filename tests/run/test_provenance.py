"""Changes of hardware and versions between two starts of a run are reported."""

from typing import Any

from translator.run.provenance import describe_environment, environment_changes


def described(**changes: Any) -> dict[str, Any]:
    """Return an environment as `describe_environment` gives it, with other values."""
    return {
        "written": "now",
        "versions": {"torch": "2.13.0"},
        "hardware": {"cpu": "one"},
        "choices": {"precision": "bf16"},
        **changes,
    }


def test_this_machine_is_described_the_same_twice() -> None:
    assert environment_changes(describe_environment(), describe_environment()) == []


def test_a_changed_version_is_reported() -> None:
    assert environment_changes(described(), described(versions={"torch": "9.9"})) == [
        "since the last start of this run versions.torch has changed: 2.13.0 → 9.9; results may differ"
    ]


def test_changed_hardware_is_reported() -> None:
    (message,) = environment_changes(described(), described(hardware={"cpu": "another"}))
    assert "hardware.cpu has changed: one → another" in message


def test_the_time_may_change() -> None:
    assert environment_changes(described(), described(written="later")) == []
