"""A model that forgot: other weights, the same shape, and the original as it was."""

import numpy as np
import torch

from piste.models.randomised import redrawn


def test_weights_are_drawn_anew_and_the_original_is_not_touched(demo, compiled_demo):
    before = {name: tensor.clone() for name, tensor in demo.model.state_dict().items()}
    ids = np.array([demo.encode("A superb film.").ids])
    for classifier in (demo, compiled_demo):
        fresh = redrawn(classifier, seed=1)
        assert np.abs(fresh.logits(ids) - classifier.logits(ids)).max() > 1e-3
        assert fresh.labels == classifier.labels
    after = demo.model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    one, two = redrawn(demo, 3), redrawn(demo, 3)
    assert np.array_equal(one.logits(ids), two.logits(ids))
