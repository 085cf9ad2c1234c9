import numpy as np
import pytest

from piste.surrogates.slalom.model import LEAST_SCALE, LengthScale

LENGTHS = np.repeat([1, 3, 20, 50, 100], 40)


def scores(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(len(LENGTHS), 1))


def test_short_texts_have_one_knot_and_never_change():
    plain = LengthScale.plain(3, 12)
    assert len(plain.knots) == 1
    fitted = plain.refitted(LENGTHS, scores(), 5 + 2 * scores())
    assert fitted.apply(LENGTHS, scores()) == pytest.approx(scores())


def test_a_planted_level_and_scale_are_found():
    true = LengthScale(
        np.log([3.0, 20.0, 50.0]), np.array([[0.0], [0.5], [2.0]]), np.array([1.0, 1.5, 0.3])
    )
    margins = true.apply(LENGTHS, scores())
    found = LengthScale.plain(3, 100)
    for _ in range(3):  # each round starts from what "no change" leaves, and so pulls the same
        found = found.refitted(LENGTHS, scores(), margins)
    assert found.level == pytest.approx(true.level, abs=0.1)
    assert found.scale == pytest.approx(true.scale, abs=0.1)


def test_a_fit_that_holds_at_every_length_stays_as_it_is():
    found = LengthScale.plain(3, 100).refitted(LENGTHS, scores(), scores())
    assert found.level == pytest.approx(np.zeros((3, 1)))
    assert found.scale == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_margins_does_not_matter(unit):
    margins = 0.4 + 1.3 * scores() + 0.2 * scores(1)
    plain = LengthScale.plain(3, 100).refitted(LENGTHS, scores(), margins)
    other = LengthScale.plain(3, 100).refitted(LENGTHS, unit * scores(), unit * margins)
    assert other.scale == pytest.approx(plain.scale)
    assert other.level == pytest.approx(unit * plain.level)


def test_undo_is_the_inverse_and_its_weights_keep_the_errors():
    scale = LengthScale(np.log([3.0, 20.0]), np.array([[0.0], [1.0]]), np.array([1.0, 2.5]))
    margins = scale.apply(LENGTHS, scores())
    back, weights = scale.undo(LENGTHS, margins)
    assert back == pytest.approx(scores())
    moved, _ = scale.undo(LENGTHS, margins + 0.1)
    assert (moved - back)[:, 0] * weights == pytest.approx(np.full(len(LENGTHS), 0.1))


def test_a_longer_text_never_turns_the_scores_round():
    found = LengthScale.plain(3, 100).refitted(LENGTHS, scores(), -scores())
    assert found.scale.min() >= LEAST_SCALE


def test_outputs_have_levels_of_their_own_and_one_scale():
    true = LengthScale(
        np.log([3.0, 20.0, 50.0]),
        np.array([[0.0, 0.0], [0.5, -0.5], [2.0, 1.0]]),
        np.array([1.0, 1.5, 0.3]),
    )
    given = np.hstack([scores(), scores(1)])
    margins = true.apply(LENGTHS, given)
    found = LengthScale.plain(3, 100, outputs=2)
    for _ in range(3):
        found = found.refitted(LENGTHS, given, margins)
    assert found.level == pytest.approx(true.level, abs=0.1)
    assert found.scale == pytest.approx(true.scale, abs=0.1)
