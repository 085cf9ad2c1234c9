"""Text into players: the units that get a score. Public: what a classifier's `encode` returns."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.text.encoding import Encoding as Encoding
    from piste.text.encoding import Frame as Frame
    from piste.text.units import word_spans as word_spans

_HOMES = {
    "Encoding": "piste.text.encoding",
    "Frame": "piste.text.encoding",
    "word_spans": "piste.text.units",
}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
