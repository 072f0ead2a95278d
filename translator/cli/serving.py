"""The verb serve."""

import argparse
import logging

from translator.cli.arguments import Verbs, add_checkpoint, add_engine, add_runs, add_search, search_overrides
from translator.cli.say import say
from translator.serve import Limits, check_installed
from translator.signals import StopRequest

LOGGER = logging.getLogger("translator")

SUMMARY = "serve a page and a JSON API that translate, on this machine alone unless told otherwise"


def add_verbs(verbs: Verbs) -> None:
    """Add the verb serve."""
    serve = verbs.add_parser("serve", help=SUMMARY, description=SUMMARY)
    add_runs(serve, "several are an ensemble")
    add_checkpoint(serve)
    add_search(serve)
    add_engine(serve)
    serve.add_argument("--host", default="127.0.0.1", metavar="NAME", help="address to listen at (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, metavar="N", help="0 takes a free one (default: 8000)")
    serve.add_argument(
        "--allow-host",
        dest="names",
        action="append",
        default=[],
        metavar="NAME",
        help="a name by which people reach this machine, besides localhost and its addresses",
    )
    limits = Limits()
    for name, kind, meaning in (
        ("characters", int, "characters of a request at most"),
        ("lines", int, "lines of a request at most"),
        ("waiting", int, "requests that may wait at the same time"),
        ("seconds", float, "for a request to arrive, and again for its answer"),
    ):
        default = getattr(limits, name)
        serve.add_argument(
            f"--{name}", type=kind, default=default, metavar="N", help=f"{meaning} (default: {default:g})"
        )
    serve.set_defaults(verb=_serve)


def _serve(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_overrides(options)
    limits = Limits(
        characters=options.characters, lines=options.lines, waiting=options.waiting, seconds=options.seconds
    )
    check_installed()
    from translator.export import load_translator
    from translator.serve.app import make_app
    from translator.serve.server import check_hosts, is_loopback, listening_socket, serve, url

    check_hosts(options.names)
    with listening_socket(options.host, options.port) as bound:
        translator = load_translator(
            options.runs,
            options.engine,
            checkpoint=options.checkpoint,
            device=options.device,
            overrides=overrides,
        )
        if not is_loopback(bound):
            LOGGER.warning(
                "--host %s: whoever can reach this machine can use the page and the API; there is neither password "
                "nor encryption",
                options.host,
            )
        address = f"{url(bound)} translates with {translator.label}, {translator.checkpoint_name}; Ctrl+C stops it"
        app = make_app(translator, limits, options.names)
        serve(app, bound, stop, limits.seconds + 1, lambda: say(address))
