"""JSON that translator wrote and reads back: every value is checked as strictly as a recipe's."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from translator.run.files import sha256_of_json

STRICT: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
"""For the class of a record: no unknown keys, no conversion between types, only finite numbers."""
_CHECKSUM: Final = "own_sha256"

Record = TypeVar("Record")
WholeNumber = Annotated[int, Field(ge=0, lt=2**63)]


class RecordError(ValueError):
    """A record is invalid; the text says why."""

    def about(self, what: object, remedy: str) -> str:
        """Return the message for the user: `what` is wrong, why, and the `remedy`."""
        return f"{what} is damaged, or of another version of translator ({self}); {remedy}"


def read_record(kind: TypeAdapter[Record], content: str | bytes) -> Record:
    """Return the record in JSON text; raise RecordError, with the first mistake, if its type is not `kind`."""
    try:
        return kind.validate_json(content)
    except ValidationError as error:
        mistake = error.errors(include_url=False)[0]
    key = ".".join(map(str, mistake["loc"]))
    # Raised outside the handler: inside it, a traceback would repeat the long message of pydantic.
    raise RecordError(f"{key}: {mistake['msg']}" if key else mistake["msg"])


def read_signed_record(kind: TypeAdapter[Record], content: bytes) -> Record:
    """Return the record in JSON text that `sign` gave a checksum.

    Raises RecordError: a value has changed since, or its type is not `kind`.
    """
    try:
        values: dict[str, Any] = json.loads(content)
        checksum = values.pop(_CHECKSUM)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecordError("it has no values with a checksum") from error
    if checksum != sha256_of_json(values):
        raise RecordError("its checksum differs")
    return read_record(kind, json.dumps(values))


def sign(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` with their checksum, for `read_signed_record`."""
    return {**values, _CHECKSUM: sha256_of_json(values)}
