"""What a person sees of an examination."""

from translator.doctor.examination import Examination
from translator.text_table import text_table


def format_examination(examination: Examination) -> str:
    """Return a table of what was found and, below it, what to do about each thing that is not as it should be."""
    rows = [(finding.verdict, finding.name, finding.found) for finding in examination.findings]
    lines = [text_table(("", "what", "found"), rows, text_columns=3)]
    for verdict, title in (("wrong", "Wrong, one cannot train:"), ("note", "To know; training works without:")):
        told = [finding for finding in examination.findings if finding.verdict == verdict]
        if told:
            lines += ["", title, *(f"  {finding.name}: {finding.advice}" for finding in told)]
    return "\n".join(lines)
