"""The verb export."""

import argparse

from translator.cli.arguments import Verbs, add_checkpoint, place
from translator.cli.say import say
from translator.signals import StopRequest

_NEXT = {
    "ctranslate2": 'translator translate --run {folder} --engine ctranslate2 "The children are at school."',
    "marian": "MarianMTModel.from_pretrained and MarianTokenizer.from_pretrained load it; its README.md has the code",
    "safetensors": 'translator translate --run {folder} "The children are at school."',
}


def add_verbs(verbs: Verbs) -> None:
    """Add the verb export."""
    summary = "write the model of a run into a folder that other programs load"
    export = verbs.add_parser("export", help=summary, description=summary)
    export.add_argument(
        "--run", required=True, type=place, metavar="FOLDER", help="run folder, for example runs/sample"
    )
    export.add_argument("--to", required=True, choices=tuple(_NEXT), help="what the folder is for")
    add_checkpoint(export)
    export.add_argument(
        "--quantization",
        metavar="TYPE",
        help="type of the weights: float32 (default), float16, bfloat16; for ctranslate2 also int8, int16",
    )
    export.add_argument("folder", metavar="FOLDER", help="where to; new, or empty")
    export.set_defaults(verb=_export)


def _export(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.export import export_run

    path = export_run(
        options.run, options.to, options.folder, checkpoint=options.checkpoint, quantization=options.quantization
    )
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    say(f"{path} is ready ({size / 1e6:.1f} MB); README.md says what it is and how to use it. Next:")
    say("  " + _NEXT[options.to].format(folder=options.folder))
