"""A training that stops after an epoch goes on as if it had not."""

import pytest
import torch

from papers.experiments.base import Outcome
from papers.experiments.course import Course, curve_table, draw_curves
from papers.theory.single_layer import Shape, SingleLayer, Training, seeded
from tests.papers.experiments.toy_imdb import save_figures

SHAPE = Shape(width=8, key_width=4, value_width=4, heads=2, window=6)


def rows():
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(2, 12, (60, 5), generator=generator)
    return ids, (ids == 3).any(dim=1).float()


def trained(file, *epochs):
    """Trained in several starts, each up to so many epochs; what the last of them said."""
    for upto in epochs:
        said = []
        with seeded(0):
            module = SingleLayer(12, SHAPE)
            course = Course(file, upto, said.append)
            course.run(Training(module, 1e-2, 8), *rows(), lambda: 0.5)
    return module, course.curve, said


def test_an_interrupted_training_ends_like_one_that_was_not(tmp_path):
    whole, curve, _ = trained(tmp_path / "whole", 4)
    resumed, again, said = trained(tmp_path / "parts", 1, 3, 4)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)
    assert [point["loss"] for point in again] == pytest.approx([point["loss"] for point in curve])
    assert [point["epoch"] for point in again] == [1, 2, 3, 4]
    assert len(said) == 1  # the last start had one epoch to do
    assert curve[-1]["loss"] < curve[0]["loss"]
    unlike, _, _ = trained(tmp_path / "other", 1)
    assert not torch.allclose(unlike.last, resumed.last, atol=1e-3)


def test_a_finished_training_is_only_read(tmp_path):
    first, curve, _ = trained(tmp_path / "file", 2)
    again, same, said = trained(tmp_path / "file", 2)
    assert torch.equal(first.last, again.last)
    assert (same, said) == (curve, [])


def test_the_curve_is_told_and_drawn(tmp_path):
    curve = [{"epoch": 1, "loss": 0.5, "held": 0.75, "seconds": 2.0}]
    assert curve_table(curve).rows == (("1", "0.500", "75.0%", "2"),)
    outcome = Outcome((), {"learning": draw_curves({"a": curve}, 0.8)})
    assert save_figures(outcome, tmp_path) == ["learning"]
