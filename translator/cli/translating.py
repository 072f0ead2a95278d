"""The verbs that use a trained model: translate, export, serve."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from translator.cli.arguments import chosen_run, chosen_runs, load_model, say, search_flags
from translator.corpus.reading.forms import without_packing
from translator.errors import InputError
from translator.inference.files.block_translation import translate_stream
from translator.inference.files.display import choose_display
from translator.inference.files.document import Document
from translator.inference.files.file_translation import translate_file
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.prompt import translate_interactively, translate_texts
from translator.inference.files.whole_files import read_whole_file, refuse_other_subtitles, translate_whole_file
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.run.output_paths import refuse_input_as_output, write_output
from translator.run.signals import StopRequest
from translator.run.text import write_lines
from translator.serve import Limits, check_installed


def translate(options: argparse.Namespace, stop: StopRequest) -> None:
    """Translate the text that the options name, to standard output or into a file."""
    # 1. Report the mistakes of the user before a model is loaded.
    overrides = search_flags(options)
    form = OutputForm(
        options.format, options.n_best, options.scores, options.alignment, options.attention, options.prefix
    )
    form.check()
    document_of = partial(Document, form=form, column=options.column, paragraphs=options.paragraphs)  # takes a source
    _check_input(options)
    whole_file = None  # a file that is no plain text, such as subtitles
    if options.input is not None:
        source = Path(options.input)
        whole_file = read_whole_file(source)
        if whole_file is None:
            document_of(source).check()
        elif form != OutputForm() or options.column is not None or options.paragraphs:
            raise InputError(
                f"{source} is translated as a whole; leave out --format, --n-best, --scores, --alignment, --attention, "
                "--prefix, --column and --paragraphs"
            )
        if options.output is not None:
            inputs = [Path(file) for file in (source, options.glossary) if file is not None]
            refuse_input_as_output(inputs, options.output)
            refuse_other_subtitles(source, Path(options.output))
    runs = tuple(chosen_runs(options.runs))
    # A function, since worker processes load the model themselves.
    load = partial(load_model, runs, options.engine, options.checkpoint, options.device, tuple(overrides))

    # 2. A file that is read and written as a whole.
    if whole_file is not None:
        content = translate_whole_file(load(), whole_file, source.name)
        if options.output is not None:
            write_output(options.output, content)
        else:
            write_lines(sys.stdout, content.removesuffix("\n").split("\n"))
        return

    # 3. From file to file.
    if options.output is not None:
        translate_file(load, document_of(Path(options.input)), Path(options.output))
        return

    # 4. From arguments, a file, the keyboard or standard input to standard output.
    translator = load()
    display = choose_display(options.display, sys.stdout, os.environ)
    # Only text from right to left may need reordering for the terminal.
    if options.display == "auto" and translator.normalizer.languages[1].writing == "ltr":
        display = "logical"
    if options.text:
        translate_texts(form, translator, options.text, sys.stdout, display)
    elif options.input is not None:
        translate_stream(load, translator, document_of(Path(options.input)), sys.stdout)
    elif sys.stdin.isatty():
        translate_interactively(form, translator, display, paragraphs=options.paragraphs)
    else:
        translate_stream(load, translator, document_of(sys.stdin.fileno()), sys.stdout)


def _check_input(options: argparse.Namespace) -> None:
    """Raise InputError if options for input and output contradict each other, or if an argument is not UTF-8."""
    if options.text and options.input is not None:
        raise InputError("text is given both as arguments and as --input; leave out one of them")
    if options.output is not None and options.input is None:
        raise InputError("--output needs --input FILE; without it, redirect: translator translate ... > FILE")
    if options.output is not None and options.output != without_packing(options.output):  # ends in .gz or the like
        plain = without_packing(options.output)
        raise InputError(f"the output {options.output} would not be compressed; write {plain}, and compress that")
    if options.column is not None and options.input is None:
        raise InputError("--column needs --input FILE, a CSV, TSV or JSON Lines file")
    if options.paragraphs and (options.text or options.column is not None):
        raise InputError("--paragraphs joins the lines of plain text, of --input or standard input; leave it out")
    if options.column is not None and Path(options.input).is_fifo():
        raise InputError(f"{options.input} is a pipe, and --column needs a file on disk")
    texts = {f"argument {number}": text for number, text in enumerate(options.text, 1)}
    texts["--prefix"] = options.prefix
    for name, text in texts.items():
        try:
            text.encode("utf-8")  # fails for bytes that are not UTF-8: Python keeps them as lone surrogates
        except UnicodeEncodeError:
            raise InputError(f"{name} is not UTF-8; convert it first, for example with iconv") from None


def export(options: argparse.Namespace, stop: StopRequest) -> None:
    """Export the model of a run to a folder."""
    run = chosen_run(options.run)
    from translator.export.package import export_run  # imports torch: only after the user's mistakes are told

    path = export_run(run, options.to, options.folder, checkpoint=options.checkpoint, quantization=options.quantization)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    say(f"{path} is ready ({size / 1e6:.1f} MB); README.md says what it is and how to use it.")
    if options.to != "marian":  # `translate` cannot load an export in the format of Marian
        example = RunFolder(run).config().corpus.languages[0].example
        say(f'Next:\n  translator translate --run {options.folder} "{example}"')


def serve(options: argparse.Namespace, stop: StopRequest) -> None:
    """Serve a web page and a JSON API until a signal stops it."""
    overrides = search_flags(options)
    limits = Limits(options.characters, options.lines, options.seconds, options.connections)
    # A missing library is reported before a model is loaded, which takes seconds.
    check_installed()
    from translator.serve.app import LOOPBACK, make_app
    from translator.serve.listening import is_loopback, listening_socket, url
    from translator.serve.listening import serve as serve_until_stopped

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
        # Translate once now, so that no visitor waits while the engine loads its parts (and torch for attention maps).
        source = translator.normalizer.languages[0]
        translator.translations([source.example], attention=translator.searcher.gives_attention)
        # The host names that a request may address; an empty list allows all. A server for this machine alone allows
        # only the names of this machine, against DNS rebinding: a foreign web page lets its own name resolve to
        # 127.0.0.1, and reads the answers.
        allowed_hosts = []
        if is_loopback(bound) or options.names:
            allowed_hosts = [*LOOPBACK, options.host, *options.names]
        application = make_app(translator, limits, allowed_hosts)
        say(f"{url(bound)} translates with {translator.label}, {translator.checkpoint_name}; Ctrl+C stops it")
        serve_until_stopped(application, bound, limits, stop)
