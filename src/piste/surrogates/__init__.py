"""Simple models fitted to a classifier's answers. The names below are public."""

from typing import TYPE_CHECKING

from piste.lazy import loader

if TYPE_CHECKING:
    from piste.surrogates.analytic import choose_references as choose_references
    from piste.surrogates.analytic import solve_pairs as solve_pairs
    from piste.surrogates.gam import fit_gam as fit_gam
    from piste.surrogates.gauss_newton import fit_gauss_newton as fit_gauss_newton
    from piste.surrogates.linear import fit_linear as fit_linear
    from piste.surrogates.sgd import SgdSettings as SgdSettings
    from piste.surrogates.sgd import fit_sgd as fit_sgd
    from piste.surrogates.slalom import SlalomModel as SlalomModel
    from piste.surrogates.slalom import count_matrix as count_matrix

_HOMES = {
    "SlalomModel": "piste.surrogates.slalom",
    "count_matrix": "piste.surrogates.slalom",
    "fit_gauss_newton": "piste.surrogates.gauss_newton",
    "SgdSettings": "piste.surrogates.sgd",
    "fit_sgd": "piste.surrogates.sgd",
    "choose_references": "piste.surrogates.analytic",
    "solve_pairs": "piste.surrogates.analytic",
    "fit_gam": "piste.surrogates.gam",
    "fit_linear": "piste.surrogates.linear",
}
__all__ = [*_HOMES]
__getattr__ = loader(__name__, _HOMES)
