"""The result of the pipeline, and what goes with it. Public: the format of its JSON."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.result.format import schema as schema

_HOMES = {"schema": "piste.result.format"}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
