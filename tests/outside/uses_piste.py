"""Somebody else's code against the public API, for mypy only: `assert_type` fails on a drift."""

from collections.abc import Mapping
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import piste
from piste.methods.lime import Lime

Floats = NDArray[np.float64]


def margins(texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


classifier = piste.from_function(margins)
explanation = piste.explain("A text.", classifier, target="positive", budget=100)
assert_type(explanation, piste.Explanation)
assert_type(explanation.scores["value"], Floats)
assert_type(explanation.players[0], piste.Player)
assert_type(explanation.players[0].text, str)
assert_type(explanation.target.probability, float | None)
assert_type(explanation.change([0, 1]), float)
assert_type([row.scores["lin"] for row in explanation.top(3)], list[float])
explanation.to_json("out.json")
assert_type(explanation.to_json(), str)
assert_type(explanation.to_html(), str)
if explanation.fidelity is not None:
    assert_type(explanation.fidelity.r2, float | None)
explanation.to_pandas()
piste.explain("A text.", piste.load("my-org/my-classifier"), Lime(samples=100))
piste.explain("A text.", method=piste.Context(effort="quick"), tolerance=0.1)
assert_type(explanation.predict([0, 1]), piste.Prediction)
assert_type(explanation.pairs(3), list[piste.Pair])

many = piste.explain(["A text.", "Another."], classifier, progress=True)
assert_type(many, piste.Explanations)
assert_type(many[0], piste.Explanation | piste.Failure)
assert_type(many.explained, list[piste.Explanation])
assert_type(piste.explain((text for text in ["A text."]), classifier), piste.Explanations)
piste.explain("A text.", piste.from_embedding(lambda texts: [[1.0] for _ in texts], to="A"))

comparison = piste.compare("A text.", methods=["slalom", piste.adapt({"text": 1.0})], measure=True)
assert_type(comparison.explanations["slalom"], piste.Explanation)
assert_type(comparison.measured["slalom"].deletion, float | None)

assert_type(piste.predict(["A text."], classifier), Floats)
lexicon = piste.build_lexicon(["A text."], classifier)
assert_type(lexicon, piste.Lexicon)
piste.evaluate([piste.Example("1", "A text.")], classifier, ["slalom"], ["deletion"])
piste.run("reviews.jsonl", "my-org/my-classifier", "out", columns=piste.Columns(text="review"))
assert_type(piste.METHODS["slalom"].explain.__name__, str)


class Mine(piste.Method):
    """A method of one's own."""

    def explain(self, decision: piste.Decision, rng: np.random.Generator) -> piste.Attribution:
        raise NotImplementedError


piste.explain("A text.", classifier, Mine())


def planned(arguments: Mapping[str, Any]) -> piste.Explanation:
    try:
        return piste.explain("A text.", **arguments)
    except piste.PisteError as error:
        raise SystemExit(str(error)) from error
