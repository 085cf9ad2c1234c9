"""The explainers that are compared, by name. Each module is imported only in its own process."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contender:
    """Where an explainer lives and how it is set; `settings` go to the module's `make`."""

    title: str
    module: str  # of this package
    environment: str  # "piste" or "peers"
    settings: dict[str, Any] = field(default_factory=dict)


CONTENDERS = {
    "piste": Contender("piste slalom, by word", "with_piste", "piste"),
    "piste-token": Contender("piste slalom, by token", "with_piste", "piste", {"unit": "token"}),
    "piste-torch": Contender(
        "piste slalom, by word, torch", "with_piste", "piste", {"backend": "torch"}
    ),
    "piste-context": Contender(
        "piste context, by word", "with_piste", "piste", {"method": "context"}
    ),
    "piste-quick": Contender(
        "piste context, quick", "with_piste", "piste", {"method": "context", "effort": "quick"}
    ),
    "piste-ana": Contender("piste slalom-ana", "with_piste", "piste", {"method": "slalom-ana"}),
    "slalom": Contender("slalom-explanations", "with_slalom", "peers"),
    "lime": Contender("lime", "with_lime", "peers"),
    "shap-kernel": Contender("shap Kernel, ten words kept", "with_shap", "peers"),
    "shap-kernel-all": Contender("shap Kernel, all words", "with_shap", "peers", {"l1_reg": False}),
    "shap-partition": Contender("shap Partition", "with_shap", "peers", {"algorithm": "partition"}),
    "captum-lime": Contender("captum Lime", "with_captum", "peers", {"algorithm": "Lime"}),
    "captum-kernel": Contender(
        "captum KernelShap", "with_captum", "peers", {"algorithm": "KernelShap"}
    ),
    "interpreto-lime": Contender(
        "interpreto Lime", "with_interpreto", "peers", {"algorithm": "Lime"}
    ),
    "interpreto-kernel": Contender(
        "interpreto KernelShap", "with_interpreto", "peers", {"algorithm": "KernelShap"}
    ),
    "interpreto-occlusion": Contender(
        "interpreto Occlusion", "with_interpreto", "peers", {"algorithm": "Occlusion"}
    ),
}
