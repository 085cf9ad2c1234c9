"""Each closed form against autograd or against the definition, by brute force."""

import math

import numpy as np
import pytest
import torch

from papers.theory import closed_forms, lime_by_subsets
from papers.theory.single_layer import PAPER, Shape, SingleLayer
from piste.methods.lime import lime_samples
from tests.papers.theory.small import SHAPE, random_layer, some_ids

WINDOW_FULL = Shape(width=32, key_width=16, value_width=8, heads=3, window=9)


def autograd(module: SingleLayer, ids: np.ndarray) -> np.ndarray:
    embedded = torch.from_numpy(closed_forms.embed(module, ids))[None].requires_grad_()
    module.read(embedded).sum().backward()
    return embedded.grad[0].numpy()


@pytest.mark.parametrize("shape", [SHAPE, WINDOW_FULL, PAPER])
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_autograd_s_at_every_position(shape, seed):
    module, ids = random_layer(seed, shape), some_ids(8, seed)
    expected = autograd(module, ids)
    found = closed_forms.gradient(module, ids)
    assert np.abs(found - expected).max() <= 1e-12
    assert np.abs(expected[0]).max() > 1e-6  # [CLS] has a gradient, and is covered


class DeafQuery(SingleLayer):
    """The same model, but no gradient flows back through the query."""

    def scores(self, embedded: torch.Tensor) -> torch.Tensor:
        first = torch.zeros_like(embedded)
        first[:, 0] = embedded[:, 0]
        still = embedded - first + first.detach()  # the query's only source
        query = torch.einsum("kae,be->bka", self.query, still[:, 0])
        reader = torch.einsum("kae,bka->bke", self.key, query) / self.shape.key_width**0.5
        return reader @ embedded.transpose(1, 2)


def test_the_query_s_own_term_is_what_cls_adds():
    module, ids = random_layer(), some_ids()
    torch.manual_seed(0)
    deaf = DeafQuery(40, SHAPE).double()
    deaf.load_state_dict(module.state_dict())
    difference = np.abs(autograd(deaf, ids) - closed_forms.gradient(module, ids)).max(axis=1)
    assert difference[0] > 1e-5
    assert difference[1:].max() < 1e-12


def test_attention_is_a_distribution_and_ignores_the_last_layer():
    module, ids = random_layer(), some_ids()
    before = closed_forms.attention(module, ids)
    assert before.shape == (3, 16)
    assert before.sum(axis=1) == pytest.approx(1.0)
    assert closed_forms.alpha_avg(module, ids) == pytest.approx(before.mean(axis=0))
    assert closed_forms.alpha_max(module, ids) == pytest.approx(before.max(axis=0))
    with torch.no_grad():
        expected = module.attention(module.embed(module.pad(torch.from_numpy(ids)[None])))[0]
        module.last.neg_()
    assert before == pytest.approx(expected.numpy())
    assert closed_forms.attention(module, ids) == pytest.approx(before)
    assert (before >= 0).all()


CASES = [(SHAPE, 8, 0), (SHAPE, 6, 4), (WINDOW_FULL, 8, 0)]


@pytest.mark.parametrize("bandwidth", [math.inf, 1.0, 0.25])
@pytest.mark.parametrize(("shape", "words", "repeats"), CASES)
def test_the_limit_is_lime_summed_over_every_subset(shape, words, repeats, bandwidth):
    game = lime_by_subsets.Removal(random_layer(1, shape), some_ids(words, 1, repeats))
    means = lime_by_subsets.kept_means(game, words)
    exact = lime_by_subsets.exact_lime(game, words, bandwidth)
    assert closed_forms.lime_limit(means, bandwidth) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("words", [2, 3])
def test_the_limit_holds_for_very_short_texts(words):
    game = lime_by_subsets.Removal(random_layer(), some_ids(words))
    means = lime_by_subsets.kept_means(game, words)
    exact = lime_by_subsets.exact_lime(game, words)
    assert closed_forms.lime_limit(means) == pytest.approx(exact, abs=1e-12)


def test_the_paper_s_form_is_the_limit_up_to_scale_and_a_common_shift():
    words = 8
    game = lime_by_subsets.Removal(random_layer(), some_ids(words))
    by_size, empty = lime_by_subsets.kept_means(game, words)
    paper = closed_forms.lime_large_text((by_size, empty))
    kept = (words - np.arange(1, words + 1)) / words
    given_kept = (kept @ by_size / kept.sum()).mean()
    mean = np.append(by_size[:-1].mean(axis=1), empty).mean()
    expected = (words - 1) / (words + 1) * paper + 6 / (words + 1) * (given_kept - mean)
    assert lime_by_subsets.exact_lime(game, words) == pytest.approx(expected, abs=1e-12)
    assert paper.sum() == pytest.approx(0.0, abs=1e-12)


def sharpened(module: SingleLayer, factor: float) -> SingleLayer:
    """The same with scores `factor` times as large: attention on few places."""
    with torch.no_grad():
        module.key.mul_(factor)
    return module


@pytest.mark.parametrize("factor", [0.0, 1.0, 5.0, 20.0])
@pytest.mark.parametrize(("shape", "words", "repeats"), CASES)
def test_the_integral_is_lime_without_sampling(shape, words, repeats, factor):
    module, ids = sharpened(random_layer(2, shape), factor), some_ids(words, 2, repeats)
    exact = lime_by_subsets.exact_lime(lime_by_subsets.Removal(module, ids), words)
    found = closed_forms.lime_integral(closed_forms.read_text(module, ids))
    assert found == pytest.approx(exact, abs=1e-11)


def sampled_lime(game, samples, rng):
    kept = lime_samples(rng, len(game), samples)
    return lime_by_subsets.weighted_fit(kept, game(kept), np.ones(samples))


def test_the_integral_is_what_sampling_tends_to_on_a_long_text():
    shape = Shape(width=32, key_width=16, value_width=8, heads=2, window=40)
    module, ids = random_layer(0, shape), some_ids(35, repeats=3)
    game = lime_by_subsets.Removal(module, ids)
    limit = closed_forms.lime_integral(closed_forms.read_text(module, ids))
    rng = np.random.default_rng(0)
    few, many = (
        np.linalg.norm(sampled_lime(game, samples, rng) - limit) for samples in (500, 16_000)
    )
    assert many < 0.4 * few
    assert many < 0.05 * np.linalg.norm(limit)


def test_equal_weights_make_the_model_additive():
    """Then LIME is its weights, and three halves is half too much."""
    module, ids = sharpened(random_layer(), 0.0), some_ids(7)
    reading = closed_forms.read_text(module, ids)
    effects = reading.per_word(reading.effect - reading.removed_effect).mean(axis=0) / 16
    assert closed_forms.lime_integral(reading) == pytest.approx(effects)
    assert closed_forms.three_halves(reading) == pytest.approx(1.5 * effects)


@torch.no_grad()
def test_three_halves_by_hand():
    module, ids = random_layer(), some_ids(5, repeats=2)
    reading = closed_forms.read_text(module, ids)
    whole = torch.from_numpy(closed_forms.embed(module, ids))
    gone = torch.from_numpy(closed_forms.embed(module, closed_forms.removed(ids)))
    game = lime_by_subsets.Removal(module, ids)
    expected = np.zeros(5)
    for head in range(3):
        query = module.query[head] @ whole[0]
        for sign, embedded in ((1, whole), (-1, gone)):
            scores = embedded @ module.key[head].T @ query / 4  # sqrt(16)
            change = scores.softmax(0) * (embedded @ module.value[head].T @ module.last[head])
            for position in range(1, len(ids)):
                expected[game.owner[position]] += sign * 1.5 / 3 * float(change[position])
    assert closed_forms.three_halves(reading) == pytest.approx(expected, abs=1e-12)


def test_the_integral_at_its_ends():
    """Attention so sharp that weights underflow, and a text of one word."""
    from papers.theory.single_layer import CLS, seeded
    from piste.errors import InputError

    with seeded(0):
        module = SingleLayer(12, Shape(width=16, key_width=8, value_width=8, heads=2, window=10))
    module = module.double().eval()
    ids = np.array([CLS, 3, 4, 5, 6])
    with torch.no_grad():
        module.key.mul_(1000)
    game = lime_by_subsets.Removal(module, ids)
    sharp = closed_forms.lime_integral(closed_forms.read_text(module, ids))
    assert sharp == pytest.approx(lime_by_subsets.exact_lime(game, len(game)), abs=1e-6)
    with pytest.raises(InputError, match="of one word"):
        closed_forms.lime_integral(closed_forms.read_text(module, np.array([CLS, 3])))
