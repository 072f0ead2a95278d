"""TensorBoard with each run under the name of its folder: `python -m translator.run.tensorboard --logdir runs`."""

import sys
from pathlib import Path
from typing import Any, Final

from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.main import run_main

_EVENTS: Final = "tensorboard"  # folder of the event files of a run
_add_run: Any = EventMultiplexer.AddRun


def _add_named_run(runs: EventMultiplexer, path: str, name: str) -> Any:
    """Add the event files in `path`; `name` is their place below the folder of all runs."""
    place = Path(name)
    if place.name == _EVENTS:
        # The folder of all runs may itself be a run.
        name = str(place.parent) if place.parent.name else Path(path).absolute().parent.name
    return _add_run(runs, path, name)


if __name__ == "__main__":
    EventMultiplexer.AddRun = _add_named_run
    # The fast loader is another program, which names runs itself.
    sys.argv.append("--load_fast=false")
    run_main()
