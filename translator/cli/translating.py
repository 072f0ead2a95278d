"""The verbs that use a trained model: translate, export, serve."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import Final

from translator.cli.arguments import CHECKPOINT, RUN, RUNS, SEARCH, load_model, option, say, search_flags, verb
from translator.errors import InputError
from translator.inference.output import OutputForm, choose_display, translate_interactively, translate_texts
from translator.inference.stream import Work, check_source, translate_file, translate_stream
from translator.run.logging import LOGGER
from translator.run.signals import StopRequest
from translator.serve import Limits, check_installed

_FORMATS: Final = ("ctranslate2", "marian", "safetensors")
_LIMITS: Final = {
    "characters": "characters of a request at most",
    "lines": "lines of a request at most",
    "waiting": "requests that may wait at the same time",
    "seconds": "for the answer of a request",
}
_DISPLAY: Final = "at a terminal: logical order, or joined and reordered for terminals that cannot (default: auto)"
_HOSTS: Final = "a name that requests may address, besides localhost"


@verb(
    "translate",
    "translate text: arguments, a file, standard input line by line, or at a prompt",
    *(RUNS, CHECKPOINT, *SEARCH),
    option("--processes N", "search.processes, for files (default: chosen)", type=int),
    option("--input FILE", "translate this file, line by line"),
    option("--output FILE", "with --input: written whole or not at all; resumed after a stop"),
    option("--format", "of the output (default: text)", choices=("text", "tsv", "jsonl"), default="text"),
    option("--n-best K", "translations of each text, best first", type=int, default=1),
    option("--scores", "add log-probabilities (tsv, jsonl)", action="store_true"),
    option("--alignment", "add the word alignment (tsv, jsonl)", action="store_true"),
    option("--attention", "add the attention weights (jsonl)", action="store_true"),
    option("--prefix TEXT", "text that each translation begins with", default=""),
    option("--display", _DISPLAY, choices=("auto", "logical", "visual"), default="auto"),
    option("--strict", "stop at a line that is not UTF-8, instead of replacing its bytes", action="store_true"),
    option("text", "text to translate, one sentence each; without it, standard input", nargs="*"),
    examples=(
        'translator translate --run runs/sample "The children are at school."',
        "translator translate --run runs/sample --input book.en --output book.fa",
        "translator translate --run runs/sample --format jsonl --n-best 5 --scores < book.en",
    ),
)
def _translate(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_flags(options)
    form = OutputForm(
        options.format, options.n_best, options.scores, options.alignment, options.attention, options.prefix
    )
    form.check()
    _check_input(options)
    if options.processes is not None:
        overrides.append(f"search.processes={options.processes}")
    model = tuple(options.runs), options.engine, options.checkpoint, options.device, tuple(overrides)
    work = Work(partial(load_model, *model), form, options.strict)
    if options.output is not None:
        translate_file(work, Path(options.input), Path(options.output))
        return
    translator = work.load()
    display = choose_display(options.display, sys.stdout, os.environ)
    if options.display == "auto" and translator.normalizer.languages[1].writing == "ltr":
        display = "logical"
    if options.text:
        translate_texts(work, translator, options.text, sys.stdout, display)
    elif options.input is not None:
        with Path(options.input).open("rb") as file:
            translate_stream(work, translator, file.fileno(), sys.stdout)
    elif sys.stdin.isatty():
        translate_interactively(work, translator, display)
    else:
        translate_stream(work, translator, sys.stdin.fileno(), sys.stdout)


def _check_input(options: argparse.Namespace) -> None:
    """Check before a model is loaded that there is one source of text, that it can be read, and that it is UTF-8."""
    if options.text and options.input is not None:
        raise InputError("text is given as arguments and as --input; leave out one of them")
    if options.output is not None and options.input is None:
        raise InputError("--output needs --input FILE; without it, redirect: translator translate ... > FILE")
    if options.input is not None:
        check_source(Path(options.input))
    texts = {f"argument {number}": text for number, text in enumerate(options.text, 1)}
    for name, text in (texts | {"--prefix": options.prefix}).items():
        try:
            text.encode("utf-8")  # Python keeps bytes that are not UTF-8 as lone surrogates
        except UnicodeEncodeError:
            raise InputError(f"{name} is not UTF-8; convert it first, for example with iconv") from None


@verb(
    "export",
    "write the model of a run into a folder that other programs load",
    RUN,
    option("--to", "format of the export", required=True, choices=_FORMATS),
    CHECKPOINT,
    option(
        "--quantization TYPE",
        "float32 (default); ctranslate2, marian: also float16, bfloat16; ctranslate2: int8, int16",
    ),
    option("folder FOLDER", "where to; new, or empty"),
    examples=("translator export --run runs/sample --to ctranslate2 exports/sample",),
)
def _export(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.export.package import export_run
    from translator.run.folder import RunFolder

    path = export_run(
        options.run, options.to, options.folder, checkpoint=options.checkpoint, quantization=options.quantization
    )
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    say(f"{path} is ready ({size / 1e6:.1f} MB); README.md says what it is and how to use it.")
    if options.to != "marian":
        example = RunFolder.open(options.run).config().corpus.languages[0].example
        say(f'Next:\n  translator translate --run {options.folder} "{example}"')


@verb(
    "serve",
    "serve a page and a JSON API that translate; by default only this machine can reach them",
    *(RUNS, CHECKPOINT, *SEARCH),
    option("--host NAME", "address to listen at (default: 127.0.0.1)", default="127.0.0.1"),
    option("--port N", "0 takes a free one (default: 8000)", type=int, default=8000),
    option("--allow-host NAME", _HOSTS, dest="names", action="append", default=[]),
    *(
        option(f"--{name} N", f"{meaning} (default: {default:g})", type=type(default), default=default)
        for name, meaning in _LIMITS.items()
        if (default := getattr(Limits(), name))
    ),
    examples=("translator serve --run runs/sample",),
)
def _serve(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_flags(options)
    limits = Limits(**{name: getattr(options, name) for name in _LIMITS})
    check_installed()
    from translator.serve import app

    with app.listening_socket(options.host, options.port) as bound:
        translator = load_model(options.runs, options.engine, options.checkpoint, options.device, overrides)
        if not app.is_loopback(bound):
            LOGGER.warning(
                "--host %s: anyone who can reach this machine can use the page and the API, without password or "
                "encryption; put a reverse proxy in front of it for the open internet",
                options.host,
            )
        address = f"{app.url(bound)} translates with {translator.label}, {translator.checkpoint_name}; Ctrl+C stops it"
        hosts = [*app.LOOPBACK, options.host, *options.names] if app.is_loopback(bound) or options.names else []
        app.serve(app.make_app(translator, limits, hosts), bound, stop, limits.seconds + 1, lambda: say(address))
