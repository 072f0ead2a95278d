"""JSON that translator wrote and reads back: every value is checked as strictly as a recipe's."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from translator.config.keys import show_value
from translator.run.files import sha256_of_json

STRICT: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
"""For the class of a record: no unknown keys, no conversion between types, only finite numbers."""
_SHOWN: Final = 3  # mistakes in a message
_CHECKSUM: Final = "own_sha256"
_VERSIONS: Final = ("format", "version")  # keys whose number grows with the format of a file

_UNKNOWN_KEY: Final = ("extra_forbidden", "unexpected_keyword_argument")
"""Names that pydantic gives to an unknown key: of a model, and of a dataclass."""

Record = TypeVar("Record")
WholeNumber = Annotated[int, Field(ge=0, lt=2**63)]


class RecordError(ValueError):
    """A record is invalid; the text says why. `newer`: probably because a newer version of translator wrote it."""

    def __init__(self, reason: str, *, newer: bool) -> None:
        super().__init__(reason)
        self.newer = newer

    def about(self, what: object, remedy: str) -> str:
        """Return the message for the user: `what` is wrong, why, and the `remedy`."""
        if self.newer:
            return f"{what} was made by a newer version of translator ({self}); use that version, or {remedy}"
        return f"{what} is damaged ({self}); {remedy}"


def read_record(kind: TypeAdapter[Record], content: str | bytes) -> Record:
    """Return the record in JSON text; raise RecordError if its type is not `kind`."""
    try:
        return kind.validate_json(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
    reasons = []
    # A damaged file may have thousands of mistakes; a few are enough to recognise it.
    for detail in details[:_SHOWN]:
        key = ".".join(map(str, detail["loc"]))
        reasons.append(f"{key}: {_reason(detail)}" if key else _reason(detail))
    if len(details) > _SHOWN:
        reasons.append(f"and {len(details) - _SHOWN:,} more")
    raise RecordError("; ".join(reasons), newer=_may_be_newer(details) or any(map(_is_later_format, details)))


def read_whole_record(kind: TypeAdapter[Record], content: str | bytes, optional: Collection[str] = ()) -> Record:
    """Return the record in JSON text, as `read_record` does; every key must be there, also one with a default.

    The writer leaves no key out, so a default would replace a value that was lost. `optional` has the dotted keys that
    an earlier version did not write.

    Raises RecordError: a key is missing, or the type is not `kind`.
    """
    record = read_record(kind, content)
    all_missing = _missing_keys(json.loads(content), kind.dump_python(record, mode="json"))
    missing = [key for key in all_missing if key not in optional]
    if missing:
        more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
        raise RecordError(f"missing keys: {', '.join(missing[:_SHOWN])}{more}", newer=False)
    return record


def read_signed_record(kind: TypeAdapter[Record], content: bytes, optional: Collection[str] = ()) -> Record:
    """Return the record in JSON text with its own checksum, as `sign` and `write_json` write it.

    `optional` has the dotted keys that an earlier version did not write.

    Raises RecordError: a byte of it has changed, a key is missing, or its type is not `kind`.
    """
    try:
        # The bytes must be those that the writer makes of the values. So a changed space is noticed too.
        text = content.decode("utf-8")
        values: dict[str, Any] = json.loads(text)
        if json.dumps(values, ensure_ascii=False, indent=2) + "\n" != text:
            raise ValueError("its content is damaged")
        if values.pop(_CHECKSUM) != sha256_of_json(values):
            raise ValueError("checksum differs")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecordError(str(error), newer=False) from error
    return read_whole_record(kind, json.dumps(values), optional)


def sign(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` with their checksum, for `read_signed_record`."""
    return {**values, _CHECKSUM: sha256_of_json(values)}


def _missing_keys(values: Any, whole: Any) -> list[str]:
    """Return the dotted keys of `whole` that `values` lacks."""
    if not isinstance(whole, dict):
        return []
    missing = []
    for key, child in whole.items():
        if key not in values:
            missing.append(key)
            continue
        missing += [f"{key}.{name}" for name in _missing_keys(values[key], child)]
    return missing


def _reason(detail: Mapping[str, Any]) -> str:
    kind = detail["type"]
    value = detail["input"]
    if kind in _UNKNOWN_KEY:
        return "unknown key"
    if kind in ("json_invalid", "missing") or isinstance(value, list | dict):
        return str(detail["msg"])
    return f"{detail['msg'].replace('Input should be', 'expected')}, got {show_value(value)}"


def _is_later_format(detail: Mapping[str, Any]) -> bool:
    return detail["type"] == "less_than_equal" and detail["loc"][-1] in _VERSIONS


def _may_be_newer(details: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the mistakes that pydantic found look like keys or choices that a newer version has added.

    Where a required key is missing, another kind of file is more likely.
    """
    if any(detail["type"] == "missing" for detail in details):
        return False
    for detail in details:
        unknown_choice = detail["type"] == "literal_error" and isinstance(detail["input"], str)
        if unknown_choice or detail["type"] in _UNKNOWN_KEY:
            return True
    return False
