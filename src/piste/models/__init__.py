"""Classifiers behind one public protocol. Only this package imports torch."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.models.protocol import Classifier as Classifier

_HOMES = {
    "Classifier": "piste.models.protocol",
}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
