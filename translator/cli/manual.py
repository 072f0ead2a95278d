"""What `--help` says besides the arguments: examples of every verb, exit codes, surroundings."""

import argparse
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "prepare": ("translator prepare --config sample",),
    "corpus overlap": ("translator corpus overlap data/mizan.zip my-test.en:my-test.fa",),
    "download": ("translator download", "translator download mizan --folder data"),
    "train": (
        "translator train --config sample",
        "translator train --config my.yaml --set training.max_steps=2000 --set run.directory=runs/short",
    ),
    "runs": ("translator runs",),
    "tensorboard": ("translator tensorboard", "translator tensorboard experiments --port 6007"),
    "average": ("translator average --run runs/mizan --of best --count 5",),
    "evaluate": (
        "translator evaluate --run runs/sample --search beam --beam 5",
        "translator evaluate --run runs/a --run runs/b --test-set mine=test.en:test.fa",
    ),
    "compare": ("translator compare runs/a runs/b",),
    "translate": (
        'translator translate --run runs/sample "The children are at school."',
        "translator translate --run runs/sample --input book.en --output book.fa",
        "translator translate --run runs/sample --format jsonl --n-best 5 --scores < book.en",
    ),
    "export": ("translator export --run runs/sample --to ctranslate2 exports/sample",),
    "serve": ("translator serve --run runs/sample",),
    "plot attention": (
        'translator plot attention --run runs/sample "The children are at school." --output attention.png',
    ),
    "plot positions": ("translator plot positions --config sample --output positions.svg",),
    "plot schedule": ("translator plot schedule --config sample --output schedule.svg",),
    "plot batches": ("translator plot batches --config sample --output batches.svg",),
    "plot curves": ("translator plot curves runs/a runs/b --metric chrf --output curves.svg",),
    "plot masks": ("translator plot masks --output masks.svg",),
    "plot cache": (
        'translator plot cache --run runs/sample --beam 3 "The children are at school." --output cache.svg',
    ),
    "recipe": ("translator recipe", "translator recipe sample --output my.yaml"),
    "schema": ("translator schema --output schema.json",),
    "doctor": ("translator doctor", "translator doctor --json > doctor.json"),
    "completion": ("translator completion bash > ~/.local/share/bash-completion/completions/translator",),
}
"""Commands of each verb, as they can be typed."""
EXIT_CODES: Final = """exit codes:
  0    done
  1    a bug of translator, with its traceback
  2    a mistake in config, corpus or command, with one message that says what to do
  129, 130, 143   stopped by SIGHUP, SIGINT (Ctrl-C) or SIGTERM, after saving; a second signal stops at once"""
SURROUNDINGS: Final = """surroundings:
  NO_COLOR   if it is not empty, there are no colours; without it they are shown at terminals only"""


class ManualFormatter(argparse.HelpFormatter):
    """Fills paragraphs, and leaves those of indented lines, such as examples, as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(
            paragraph if "\n  " in paragraph else textwrap.fill(" ".join(paragraph.split()), width)
            for paragraph in paragraphs
        )


def complete_manual(whole: argparse.ArgumentParser) -> None:
    """Add to the help of `whole`, and of its verbs named in `EXAMPLES`, what it says besides the arguments."""
    first = "\n  ".join(("examples:", "translator train --config sample", EXAMPLES["translate"][0]))
    whole.epilog = "\n\n".join((first, EXIT_CODES, SURROUNDINGS))
    whole.formatter_class = ManualFormatter
    for name, verb in verbs_of(whole):
        if name in EXAMPLES:
            verb.formatter_class = ManualFormatter
            title = "example" if len(EXAMPLES[name]) == 1 else "examples"
            verb.epilog = "\n  ".join((f"{title}:", *EXAMPLES[name]))


def verbs_of(parser: argparse.ArgumentParser, prefix: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the verbs inside `parser` with their names (`corpus`, `corpus overlap`), those inside verbs after these."""
    for action in parser._actions:  # there is no public way to them
        if isinstance(action, argparse._SubParsersAction):
            for name, verb in action.choices.items():
                yield prefix + name, verb
                yield from verbs_of(verb, f"{prefix}{name} ")
