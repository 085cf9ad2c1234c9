"""The explainers that are compared, by name. Each library is imported only in its own process."""

from dataclasses import dataclass, field
from typing import Any

DELETE, MASK = "delete", "mask"
BOTH = (DELETE, MASK)
MOST = 3000  # forward passes of a curve


@dataclass(frozen=True)
class Contender:
    """Where an explainer lives, how it is set, and where it is tried."""

    title: str
    library: str  # the module contenders.with_<library>
    settings: dict[str, Any] = field(default_factory=dict)
    absences: tuple[str, ...] = (DELETE,)  # the games that it is judged on
    default: bool = True  # whether it has settings of its own to be run with
    points: tuple[int, ...] = ()  # the only passes that are tried, where they are few
    is_costly: bool = False  # whether these ask for thousands of forward passes
    most: int = MOST  # passes beyond which a text takes minutes, or nothing changes; 0: no choice


ENVIRONMENTS = {  # of each library
    "piste": "piste",
    "lime": "peers",
    "shap": "peers",
    "captum": "peers",
    "interpreto": "peers",
    "slalom": "peers",
    "shapiq": "peers",
    "lxt": "lxt",
}
OPTIONAL = ("attn-lrp",)  # run only where they are asked for: contenders/with_lxt.py says why
OURS = "context"

CONTENDERS = {
    OURS: Contender("piste context", "piste", {"method": "context"}, BOTH),
    "quick": Contender(
        "piste context, quick", "piste", {"method": "context", "effort": "quick"}, most=0
    ),
    "slalom": Contender("piste slalom", "piste", {"method": "slalom"}, most=1000),
    "slalom-ana": Contender("piste slalom-ana", "piste", {"method": "slalom-ana"}, most=0),
    "occlusion": Contender("piste occlusion", "piste", {"method": "occlusion"}, most=0),
    "gradients": Contender("piste gradients", "piste", {"method": "gradients"}, most=0),
    "attention": Contender("piste attention", "piste", {"method": "attention"}, most=0),
    "ridge": Contender("ridge", "piste", {"method": "ridge"}, BOTH, False, most=1000),
    "ridge-pairs": Contender("ridge + pairs", "piste", {"method": "pairs"}, BOTH, False, most=300),
    "lime": Contender("lime", "lime", is_costly=True),
    "shap-kernel": Contender("shap Kernel", "shap", {"algorithm": "kernel"}, BOTH, is_costly=True),
    "shap-ten": Contender(
        "shap Kernel, ten words kept",
        "shap",
        {"algorithm": "kernel", "ten": True},
        BOTH,
        is_costly=True,
    ),
    "shap-partition": Contender(
        "shap Partition", "shap", {"algorithm": "partition"}, BOTH, is_costly=True
    ),
    "captum-lime": Contender("captum Lime", "captum", {"algorithm": "Lime"}, BOTH),
    "captum-kernel": Contender("captum KernelShap", "captum", {"algorithm": "KernelShap"}, BOTH),
    "captum-ablation": Contender(
        "captum FeatureAblation", "captum", {"algorithm": "FeatureAblation"}, BOTH, most=0
    ),
    "captum-ig": Contender(
        "captum IntegratedGradients",
        "captum",
        {"algorithm": "IntegratedGradients"},
        BOTH,
        most=0,
    ),
    "interpreto-lime": Contender(
        "interpreto Lime", "interpreto", {"algorithm": "Lime"}, BOTH, points=(70,), is_costly=True
    ),
    "interpreto-kernel": Contender(
        "interpreto KernelShap",
        "interpreto",
        {"algorithm": "KernelShap"},
        BOTH,
        points=(70,),
        is_costly=True,
    ),
    "interpreto-occlusion": Contender(
        "interpreto Occlusion", "interpreto", {"algorithm": "Occlusion"}, BOTH, most=0
    ),
    "slalom-explanations": Contender("slalom-explanations", "slalom", most=300),
    "shapiq-kernel": Contender(
        "shapiq KernelSHAP", "shapiq", {"algorithm": "KernelSHAP"}, BOTH, False
    ),
    "shapiq-pairs": Contender(
        "shapiq KernelSHAP-IQ", "shapiq", {"algorithm": "KernelSHAPIQ"}, BOTH, False, most=1000
    ),
    "shapiq-permutation": Contender(
        "shapiq permutation", "shapiq", {"algorithm": "PermutationSamplingSV"}, BOTH, False
    ),
    "shapiq-svarm": Contender("shapiq SVARM", "shapiq", {"algorithm": "SVARM"}, BOTH, False),
    "shapiq-proxyspex": Contender(
        "shapiq ProxySPEX", "shapiq", {"algorithm": "ProxySPEX"}, BOTH, False, points=(70, 300)
    ),
    "shapiq-spex": Contender(
        "shapiq SPEX", "shapiq", {"algorithm": "SPEX"}, BOTH, False, points=(150, 1000)
    ),
    "attn-lrp": Contender("lxt AttnLRP", "lxt", {}, BOTH, most=0),
}
