"""An explanation made visible: terminal, HTML page, figure. Public: the style of the figures."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.render.figure import house_style as house_style
    from piste.render.figure import literal as literal

_HOMES = {
    "house_style": "piste.render.figure",
    "literal": "piste.render.figure",
}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
