"""Classifiers behind one protocol, which is public. Torch and its kin live in this room only."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.models.protocol import Classifier as Classifier

_HOMES = {
    "Classifier": "piste.models.protocol",
}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
