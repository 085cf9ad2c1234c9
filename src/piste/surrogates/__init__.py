"""Simple models fitted to a classifier's answers. The names below are public."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.surrogates.gam import fit_gam as fit_gam
    from piste.surrogates.linear import fit_linear as fit_linear
    from piste.surrogates.slalom.analytic import choose_references as choose_references
    from piste.surrogates.slalom.analytic import solve_pairs as solve_pairs
    from piste.surrogates.slalom.gauss_newton import fit_gauss_newton as fit_gauss_newton
    from piste.surrogates.slalom.model import SlalomModel as SlalomModel
    from piste.surrogates.slalom.model import count_matrix as count_matrix
    from piste.surrogates.slalom.sgd import SgdSettings as SgdSettings
    from piste.surrogates.slalom.sgd import fit_sgd as fit_sgd

_HOMES = {
    "SlalomModel": "piste.surrogates.slalom.model",
    "count_matrix": "piste.surrogates.slalom.model",
    "fit_gauss_newton": "piste.surrogates.slalom.gauss_newton",
    "SgdSettings": "piste.surrogates.slalom.sgd",
    "fit_sgd": "piste.surrogates.slalom.sgd",
    "choose_references": "piste.surrogates.slalom.analytic",
    "solve_pairs": "piste.surrogates.slalom.analytic",
    "fit_gam": "piste.surrogates.gam",
    "fit_linear": "piste.surrogates.linear",
}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
