"""Reading event files as TensorBoard does."""

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def read_events(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0})
    events.Reload()
    return events


def curve(folder: Path, tag: str) -> list[tuple[int, float]]:
    """Return step and value of each point."""
    return [(event.step, event.value) for event in read_events(folder).Scalars(tag)]
