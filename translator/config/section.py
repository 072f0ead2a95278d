"""What all sections of a configuration have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """The base of every section: frozen, strict about types (`"5"` is no number), closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


Name = Annotated[str, Field(pattern=r"^[\w][\w.-]*$", max_length=60)]
PositiveInt = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
