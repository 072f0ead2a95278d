"""The verbs that use a trained model: translate, export, serve."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import Final

from translator.cli.arguments import (
    CHECKPOINT,
    RUN,
    RUNS,
    SEARCH,
    Option,
    chosen_run,
    chosen_runs,
    load_model,
    option,
    place,
    say,
    search_flags,
    verb,
)
from translator.corpus.column_texts import check_column
from translator.errors import InputError
from translator.inference.display import choose_display
from translator.inference.file_translation import check_source, translate_file
from translator.inference.line_translation import Work
from translator.inference.output_formats import OutputForm
from translator.inference.prompt import translate_interactively, translate_texts
from translator.inference.stream import translate_stream
from translator.run.logging import LOGGER
from translator.run.signals import StopRequest
from translator.serve import Limits, check_installed

_FORMATS: Final = ("ctranslate2", "marian", "safetensors")
_LIMITS: Final = {
    "characters": "largest number of characters in a request",
    "lines": "largest number of lines in a request",
    "seconds": "time limit for the answer to a request, in seconds",
    "connections": "largest number of connections at a time",
}
_DISPLAY: Final = "order of Persian text; visual: joined and reordered, for terminals without bidi (default: auto)"
_HOSTS: Final = "host name that requests may use, in addition to localhost; repeat it for several"


@verb(
    "translate",
    "translate arguments, a file, standard input line by line, or text typed at a prompt",
    *(RUNS, CHECKPOINT, *SEARCH),
    option("--processes N", "number of processes, for files (default: search.processes of the run)", type=int),
    option(
        "--input FILE",
        "text file to translate, line by line, in UTF-8, or in UTF-16 with a byte order mark; may be .gz, .xz or .zst",
        type=place,
    ),
    option("--column NAME", "with --input of a CSV, TSV or JSON Lines file: the column to translate, or its number"),
    option("--paragraphs", "join the lines of each paragraph, up to a blank line, into one line", action="store_true"),
    option(
        "--output FILE",
        "with --input: file for the translations, replaced atomically; resumes after a stop",
        type=place,
    ),
    option("--format", "output format (default: text)", choices=("text", "tsv", "jsonl"), default="text"),
    option("--n-best K", "number of translations of each text, best first (default: 1)", type=int, default=1),
    option("--scores", "add log-probabilities (tsv, jsonl)", action="store_true"),
    option("--alignment", "add the word alignment (tsv, jsonl)", action="store_true"),
    option("--attention", "add the attention weights (jsonl)", action="store_true"),
    option("--prefix TEXT", "forced beginning of each translation", default=""),
    option("--display", _DISPLAY, choices=("auto", "logical", "visual"), default="auto"),
    option("--strict", "stop at a line that is not UTF-8 (default: leave out its invalid bytes)", action="store_true"),
    option("text", "text to translate, one line of output per argument (default: read standard input)", nargs="*"),
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
    runs = tuple(chosen_runs(options.runs))
    load = partial(load_model, runs, options.engine, options.checkpoint, options.device, tuple(overrides))
    work = Work(load, form, options.strict, options.column, options.paragraphs)

    # From file to file: the worker processes load the model.
    if options.output is not None:
        translate_file(work, Path(options.input), Path(options.output))
        return

    # To standard output, from where the text is.
    translator = work.load()
    display = choose_display(options.display, sys.stdout, os.environ)
    if options.display == "auto" and translator.normalizer.languages[1].writing == "ltr":
        display = "logical"
    if options.text:
        translate_texts(work, translator, options.text, sys.stdout, display)
    elif options.input is not None and Path(options.input).is_file():
        translate_stream(work, translator, Path(options.input), sys.stdout)
    elif options.input is not None:
        with Path(options.input).open("rb") as pipe:
            translate_stream(work, translator, pipe.fileno(), sys.stdout)
    elif sys.stdin.isatty():
        translate_interactively(work, translator, display)
    else:
        translate_stream(work, translator, sys.stdin.fileno(), sys.stdout)


def _check_input(options: argparse.Namespace) -> None:
    """Check, before a model is loaded, that there is one input, that it is readable, and that it is UTF-8."""
    if options.text and options.input is not None:
        raise InputError("text is given both as arguments and as --input; leave out one of them")
    if options.output is not None and options.input is None:
        raise InputError("--output needs --input FILE; without it, redirect: translator translate ... > FILE")
    if options.column is not None and options.input is None:
        raise InputError("--column needs --input FILE, a CSV, TSV or JSON Lines file")
    if options.paragraphs and (options.text or options.column is not None):
        raise InputError("--paragraphs joins the lines of plain text, of --input or standard input; leave it out")
    if options.input is not None:
        source = Path(options.input)
        if options.column is not None and source.exists() and not source.is_file():
            raise InputError(f"{source} is a pipe, and --column needs a file on disk")
        check_source(source)
        check_column(source, options.column)
        check_source(source, options.column)
    texts = {f"argument {number}": text for number, text in enumerate(options.text, 1)}
    texts["--prefix"] = options.prefix
    for name, text in texts.items():
        try:
            text.encode("utf-8")  # Python keeps bytes that are not UTF-8 as lone surrogates
        except UnicodeEncodeError:
            raise InputError(f"{name} is not UTF-8; convert it first, for example with iconv") from None


@verb(
    "export",
    "export the model of a run to a folder that other programs can load",
    RUN,
    option("--to", "format of the export", required=True, choices=_FORMATS),
    CHECKPOINT,
    option(
        "--quantization TYPE",
        "float32 (default); ctranslate2 and marian: also float16, bfloat16; ctranslate2: also int8, int16",
    ),
    option("folder FOLDER", "folder for the export; new or empty", type=place),
    examples=("translator export --run runs/sample --to ctranslate2 exports/sample",),
)
def _export(options: argparse.Namespace, stop: StopRequest) -> None:
    run = chosen_run(options.run)
    from translator.export.package import export_run
    from translator.run.folder import RunFolder

    path = export_run(run, options.to, options.folder, checkpoint=options.checkpoint, quantization=options.quantization)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    say(f"{path} is ready ({size / 1e6:.1f} MB); README.md says what it is and how to use it.")
    if options.to != "marian":
        example = RunFolder(run).config().corpus.languages[0].example
        say(f'Next:\n  translator translate --run {options.folder} "{example}"')


def _limit_options() -> list[Option]:
    """Return an option for each limit of the server, with its default."""
    options = []
    for name, meaning in _LIMITS.items():
        default = getattr(Limits(), name)
        options.append(option(f"--{name} N", f"{meaning} (default: {default:g})", type=type(default), default=default))
    return options


@verb(
    "serve",
    "serve a web page and a JSON API for translation; by default only this machine can reach them",
    *(RUNS, CHECKPOINT, *SEARCH),
    option("--host NAME", "address to listen on (default: 127.0.0.1)", default="127.0.0.1"),
    option("--port N", "port to listen on; 0 chooses a free one (default: 8000)", type=int, default=8000),
    option("--allow-host NAME", _HOSTS, dest="names", action="append", default=[]),
    *_limit_options(),
    examples=("translator serve --run runs/sample",),
)
def _serve(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_flags(options)
    limits = Limits(**{name: getattr(options, name) for name in _LIMITS})
    # A missing library is reported before a model is loaded, which takes seconds.
    check_installed()
    from translator.serve.app import LOOPBACK, make_app
    from translator.serve.listening import is_loopback, listening_socket, serve, url

    with listening_socket(options.host, options.port) as bound:
        # The port is taken before the model is loaded, so that a port in use is known at once.
        runs = chosen_runs(options.runs)
        LOGGER.info("loading the model")
        translator = load_model(runs, options.engine, options.checkpoint, options.device, overrides)
        if not is_loopback(bound):
            LOGGER.warning(
                "--host %s: anyone who can reach this machine can use the page and the API, without password or "
                "encryption; on the open internet, put a reverse proxy in front of it",
                options.host,
            )
        # The first translation loads what the engine needs, and with attention torch: no visitor waits for that.
        source = translator.normalizer.languages[0]
        translator.translations([source.example], attention=translator.searcher.gives_attention)
        # Other machines may call this one by any name, unless --allow-host names some.
        allowed_hosts = []
        if is_loopback(bound) or options.names:
            allowed_hosts = [*LOOPBACK, options.host, *options.names]
        application = make_app(translator, limits, allowed_hosts)
        say(f"{url(bound)} translates with {translator.label}, {translator.checkpoint_name}; Ctrl+C stops it")
        serve(application, bound, limits, stop)
