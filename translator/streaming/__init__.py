"""Translating what comes in lines: from a pipe, from a file, from a person at a prompt."""

from translator.streaming.display import Display, choose_display
from translator.streaming.file import check_source, translate_file
from translator.streaming.form import OutputForm
from translator.streaming.output import write_lines
from translator.streaming.prompt import translate_interactively
from translator.streaming.stream import bytes_on_disk, translate_redirected, translate_stream, translate_texts
from translator.streaming.work import Work, choose_processes

__all__ = [
    "Display",
    "OutputForm",
    "Work",
    "bytes_on_disk",
    "check_source",
    "choose_display",
    "choose_processes",
    "translate_file",
    "translate_interactively",
    "translate_redirected",
    "translate_stream",
    "translate_texts",
    "write_lines",
]
