"""What a machine has of all that training wants, what is wrong with it, and what to do."""

from translator.doctor.examination import Examination, examine
from translator.doctor.finding import Finding
from translator.doctor.table import format_examination

__all__ = ["Examination", "Finding", "examine", "format_examination"]
