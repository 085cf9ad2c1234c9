"""One SLALOM over a corpus: recovered where it was planted, kept on disk, used unasked."""

import json

import numpy as np
import pytest

import piste
from piste.arrays import Ragged
from piste.errors import FileError, InputError, PisteError, SettingError
from piste.lexicon import Lexicon
from piste.surrogates.slalom.model import count_matrix
from tests.conftest import tiny_bert
from tests.planted import PlantedSlalom
from tests.surrogates.test_slalom import random_model


def corpus(planted, texts=40, words=12, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(planted.words, words, replace=False)) for _ in range(texts)]


@pytest.fixture(scope="module")
def planted():
    return PlantedSlalom(words=60, seed=1)


@pytest.fixture(scope="module")
def classifier(planted):
    return piste.from_function(planted, ["no", "yes"])


@pytest.fixture(scope="module")
def lexicon(planted, classifier):
    return piste.build_lexicon(corpus(planted), classifier)


def test_planted_values_and_importances_are_recovered(planted, lexicon):
    values, importances = planted.truth(list(lexicon.words))
    found = lexicon.importances - lexicon.importances.mean()
    assert lexicon.values[:, 0] == pytest.approx(values, abs=0.05)
    assert found == pytest.approx(importances - importances.mean(), abs=0.05)
    assert lexicon.counts.sum() == 40 * 12
    assert lexicon.errors["texts"] < 0.05
    assert lexicon.importance_errors.max() < 0.1  # that all may shift together is no error


def test_the_fit_is_the_dense_one():
    from piste.surrogates.slalom.gauss_newton import fit_gauss_newton
    from piste.surrogates.slalom.large import fit_large
    from tests.surrogates.test_fits import data, random_model

    for outputs in (1, 3):
        counts, margins = data(random_model(80, frame=True, outputs=outputs), noise=0.1)
        dense, _, _ = fit_gauss_newton(counts, margins, frame=True)
        large, report, errors = fit_large(counts, margins, frame=True)
        assert report.converged
        assert large.predict(counts) == pytest.approx(dense.predict(counts), abs=0.05)
        assert np.corrcoef(large.importances, dense.importances)[0, 1] > 0.99
        assert errors.values.shape == (80, outputs)


def few_answers(seed):
    """Less than two answers a word, as a run asks of a small corpus: the prior decides a lot."""
    rng, words = np.random.default_rng(seed), 50
    sizes = [1] * words + [3] * 8 + rng.integers(3, 11, 20).tolist()
    rows = [[i] for i in range(words)]
    rows += [rng.choice(words, size, replace=False).tolist() for size in sizes[words:]]
    counts = count_matrix(Ragged.of(rows), np.arange(words), words)
    margins = random_model(words, frame=True).predict(counts)
    return counts, margins + 0.5 * rng.normal(size=margins.shape)


@pytest.mark.parametrize("seed", range(5))
def test_rounding_in_the_answers_stays_rounding_in_the_fit(seed):
    """Another machine's answers differ by 1e-6. A fit that stops early is off by up to 0.3 then."""
    from piste.surrogates.slalom.large import fit_large

    counts, margins = few_answers(seed)
    rounding = 1e-6 * np.random.default_rng(9).normal(size=margins.shape)
    here, _, here_errors = fit_large(counts, margins)
    there, _, there_errors = fit_large(counts, margins + rounding)
    assert there.importances == pytest.approx(here.importances, abs=0.01)
    assert there.values == pytest.approx(here.values, abs=0.01)
    assert there_errors.importances == pytest.approx(here_errors.importances, rel=0.05)
    assert there_errors.values == pytest.approx(here_errors.values, rel=0.05)


def test_the_errors_cover_the_truth():
    from piste.surrogates.slalom.large import fit_large
    from tests.surrogates.test_fits import data, random_model

    true = random_model(300, frame=True)
    counts, margins = data(true, noise=0.2)
    found, _, errors = fit_large(counts, margins, frame=True)
    off = np.abs(found.values - true.values)[:, 0] / errors.values[:, 0]
    assert 0.85 < np.mean(off < 2) < 0.995


def test_a_text_is_explained_without_a_question(planted, classifier, lexicon):
    text = corpus(planted, 1, seed=9)[0]
    found = piste.explain(text, classifier, "slalom", lexicon=lexicon, refine=0, target="yes")
    assert found.cost.forwards == 1
    values, importances = planted.truth([player.text for player in found.players])
    assert found.scores["value"] == pytest.approx(values, abs=0.06)
    assert found.scores["importance"] == pytest.approx(importances - importances.mean(), abs=0.06)
    assert found.surrogate_score == pytest.approx(found.target.score, abs=0.06)
    assert set(found.errors) == set(found.scores)
    assert found.fidelity.checks["text"].samples == 1


def test_towards_the_other_label_the_signs_turn(planted, classifier, lexicon):
    text = corpus(planted, 1, seed=9)[0]
    yes = piste.explain(text, classifier, "slalom", lexicon=lexicon, refine=0, target="yes")
    no = piste.explain(text, classifier, "slalom", lexicon=lexicon, refine=0, target="no")
    assert no.scores["value"] == pytest.approx(-yes.scores["value"])
    assert no.scores["importance"] == pytest.approx(yes.scores["importance"])


def test_unknown_words_are_asked_about_and_said(planted, classifier):
    known = planted.words[:50]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(known, 12, replace=False)) for _ in range(40)]
    lexicon = piste.build_lexicon(texts, classifier)
    text = " ".join([*known[:8], planted.words[55]])
    found = piste.explain(text, classifier, "slalom", lexicon=lexicon, target="yes")
    assert found.cost.forwards > 1
    assert any("Not in the lexicon" in note and "w55" in note for note in found.notes)
    assert found.scores["value"][-1] == pytest.approx(planted.values["w55"], abs=0.2)
    silent = piste.explain(text, classifier, "slalom", lexicon=lexicon, refine=0)
    assert any("average scores" in note for note in silent.notes)


def test_where_context_counts_the_text_is_asked_about(planted, lexicon):
    """A model that turns round where two words meet: no lexicon of words can know it."""

    def turned(texts):
        margins = planted(texts)
        return [
            -4 * m - 2 if "w1 w2" in text else m for m, text in zip(margins, texts, strict=True)
        ]

    classifier = piste.from_function(turned, ["no", "yes"])
    plain = piste.explain("w3 w4 w5 w6 w7", classifier, "slalom", lexicon=lexicon)
    odd = piste.explain("w1 w2 w3 w4 w5 w6", classifier, "slalom", lexicon=lexicon)
    assert plain.cost.forwards == 1
    assert odd.cost.forwards > 30
    assert any("refined" in note for note in odd.notes)
    assert "short" in odd.fidelity.checks


def test_slalom_refined_by_a_given_number(planted, classifier, lexicon):
    found = piste.explain(planted.text, classifier, "slalom", lexicon=lexicon, refine=80)
    assert 40 < found.cost.forwards <= 90
    assert found.fidelity.r2 > 0.99


def test_context_asks_parts_of_the_text_and_no_word_alone(planted, classifier, lexicon):
    found = piste.explain(planted.text, classifier, lexicon=lexicon, refine=30, target="yes")
    assert (found.method, found.primary) == ("context", "effect")
    asked = found.parts.parts
    assert len(asked) == 30 + 2  # the whole text and the empty one
    assert found.cost.forwards <= 32 + 10  # what would turn the decision is verified
    assert found.base + found.scores["effect"].sum() == pytest.approx(found.target.score)
    sizes = asked.sum(axis=1)
    assert np.sum(sizes == 1) < 4 < len(found.players)
    values, importances = planted.truth([player.text for player in found.players])
    unasked = ~asked[sizes == 1].any(axis=0)
    assert found.scores["value"][unasked] == pytest.approx(values[unasked], abs=0.06)
    assert found.scores["importance"] == pytest.approx(importances - importances.mean(), abs=0.06)
    assert set(found.errors) >= {"effect", "value", "importance", "removal", "lin"}
    assert found.fidelity.checks["parts"].r2 > 0.99  # the lexicon knows all there is to know


def test_what_no_lexicon_can_know_is_found_by_context(planted, lexicon):
    """Two words that say together what neither says: the lexicon misses it, a few parts tell."""

    def together(texts):
        both = [{"w1", "w2"} <= set(text.split()) for text in texts]
        return [m + 3.0 * b for m, b in zip(planted(texts), both, strict=True)]

    classifier = piste.from_function(together, ["no", "yes"])
    text = "w3 w1 w4 w5 w2 w6 w7 w8"
    found = piste.explain(text, classifier, lexicon=lexicon, target="yes")
    (strongest,) = found.pairs(1)
    assert (strongest.first, strongest.second) == (1, 4)
    assert strongest.effect == pytest.approx(3.0, abs=0.6)
    assert found.fidelity.r2 > 0.9
    whole, left = found.predict(range(8)), found.predict([0, 2, 3, 4, 5, 6, 7])
    true = together([text, text.replace("w1 ", "")])
    assert whole.score - left.score == pytest.approx(true[0] - true[1], abs=0.5)
    lexicon_alone = piste.explain(text, classifier, lexicon=lexicon, refine=0, target="yes")
    assert abs(lexicon_alone.surrogate_score - lexicon_alone.target.score) > 1.5


def test_fidelity_with_a_lexicon_is_what_fresh_parts_say(planted, lexicon):
    """Leave-one-out on the asked parts, against R² on parts that were never asked."""
    rng = np.random.default_rng(3)
    pairs = rng.normal(size=(8, 8)) * 0.7
    np.fill_diagonal(pairs, 0.0)  # words by themselves are as the lexicon has them

    def bent(texts):
        margins = planted(texts)
        for i, text in enumerate(texts):
            there = [int(f"w{k}" in text.split()) for k in range(8)]
            margins[i] += there @ pairs @ there / 4
        return margins

    classifier = piste.from_function(bent, ["no", "yes"])
    words = [f"w{k}" for k in range(14)]
    found = piste.explain(" ".join(words), classifier, lexicon=lexicon, target="yes")
    kept = rng.random((200, 14)) < rng.uniform(0.35, 0.95, size=(200, 1))
    true = np.array(bent([" ".join(np.array(words)[row]) or "w0" for row in kept]))
    said = np.array([found.predict(np.flatnonzero(row).tolist()).score for row in kept])
    fresh = 1 - np.mean((said - true) ** 2) / np.var(true)
    assert found.fidelity.checks["parts"].r2 == pytest.approx(fresh, abs=0.2)


def test_effort_and_budget_bound_what_a_lexicon_asks(planted, classifier, lexicon):
    text = corpus(planted, 1, words=40, seed=2)[0]
    costs = [
        piste.explain(text, classifier, lexicon=lexicon, effort=effort).cost.tokens
        for effort in ("quick", "normal", "thorough")
    ]
    assert costs[0] < costs[1] / 2 < costs[2] / 2
    assert costs[1] <= 40 * (20 + 2 + 10)  # passes; rounding; verified sets
    few = piste.explain(text, classifier, lexicon=lexicon, budget=15)
    assert few.cost.forwards <= 15
    assert few.base + few.scores["effect"].sum() == pytest.approx(few.target.score)


def test_without_parts_the_lexicon_alone_is_slalom(planted, classifier, lexicon):
    """Nothing is asked about the context, and nothing is claimed about it."""
    found = piste.explain(planted.text, classifier, lexicon=lexicon, refine=0)
    plain = piste.explain(planted.text, classifier, "slalom", lexicon=lexicon, refine=0)
    assert {name: scores.tolist() for name, scores in found.scores.items()} == {
        name: scores.tolist() for name, scores in plain.scores.items()
    }
    assert (found.method, found.parts) == ("slalom", None)


def test_one_word_with_a_lexicon(classifier, lexicon):
    found = piste.explain("w3", classifier, lexicon=lexicon)
    assert found.base + found.scores["effect"][0] == pytest.approx(found.target.score)
    assert found.pairs() == []


def test_settings_of_context_and_a_lexicon_exclude_each_other(classifier, lexicon):
    from piste.methods.context import Context

    with pytest.raises(SettingError, match="replaces"):
        piste.explain("w1 w2 w3", classifier, Context(mean="constant"), lexicon=lexicon)
    found = piste.explain("w1 w2 w3", classifier, Context(effort="quick"), lexicon=lexicon)
    assert found.settings["effort"] == "quick"


def test_written_and_read_again(tmp_path, lexicon, classifier, planted):
    for name in ("lexicon.json", "lexicon.json.gz"):
        lexicon.save(tmp_path / name)
        again = Lexicon.load(tmp_path / name)
        text = corpus(planted, 1, seed=3)[0]
        one = piste.explain(text, classifier, "slalom", lexicon=lexicon, refine=0)
        two = piste.explain(text, classifier, "slalom", lexicon=str(tmp_path / name), refine=0)
        assert (one.scores["lin"] == two.scores["lin"]).all()
        assert again.keys == lexicon.keys
    assert (tmp_path / "lexicon.json.gz").stat().st_size < (
        tmp_path / "lexicon.json"
    ).stat().st_size


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.pop("values"),
        lambda data: data.update(schema=7),
        lambda data: data["importances"].pop(),
        lambda data: data["values"][0].append(1.0),
        lambda data: data.update(keys=[[1.5, "a"]] * len(data["words"])),
        lambda data: data.update(lengths=[3, 2]),
        lambda data: data["counts"].__setitem__(0, "many"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, lexicon, spoil):
    path = tmp_path / "lexicon.json"
    lexicon.save(path)
    data = json.loads(path.read_text())
    spoil(data)
    path.write_text(json.dumps(data))
    with pytest.raises(FileError, match="lexicon"):
        Lexicon.load(path)


def test_missing_and_cut_files(tmp_path, lexicon):
    with pytest.raises(FileError):
        Lexicon.load(tmp_path / "none.json")
    lexicon.save(tmp_path / "a.json.gz")
    whole = (tmp_path / "a.json.gz").read_bytes()
    (tmp_path / "a.json.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError):
        Lexicon.load(tmp_path / "a.json.gz")


def test_a_build_that_was_stopped_pays_nothing_twice(tmp_path, planted, monkeypatch):
    monkeypatch.setattr("piste.runs.lexicon.CHUNK", 50)
    texts, out = corpus(planted), tmp_path / "lexicon.json"
    calls = []

    def counting(given):
        calls.append(len(given))
        if stop and sum(calls) > 150:
            raise KeyboardInterrupt
        return planted(given)

    stop = True
    with pytest.raises(KeyboardInterrupt):
        piste.build_lexicon(texts, piste.from_function(counting, ["no", "yes"]), out=out)
    asked = sum(calls)
    assert not out.exists()
    stop = False
    calls.clear()
    found = piste.build_lexicon(texts, piste.from_function(counting, ["no", "yes"]), out=out)
    undisturbed = piste.build_lexicon(texts, piste.from_function(planted, ["no", "yes"]))
    assert found.values == pytest.approx(undisturbed.values, abs=1e-6)
    assert sum(calls) < undisturbed.facts["sequences"] - asked + 200
    assert found.facts == undisturbed.facts  # what it cost in all, not since the stop
    assert not (tmp_path / "lexicon.json.answers").exists()


def test_a_real_model_of_three_classes(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece), num_labels=3), wordpiece, backend="torch")
    texts = ["the film was good, the plot not bad", "a terrible story; great fun", "not bad at all"]
    lexicon = piste.build_lexicon(texts, classifier)
    assert lexicon.values.shape[1] == 3
    # The fit goes by steps and ends near: the trained tokenizer, and so the model, vary by process.
    largest = np.abs(lexicon.values).max()
    assert np.abs(lexicon.values.sum(axis=1)).max() < 1e-3 * largest
    found = piste.explain(texts[0], classifier, "slalom", lexicon=lexicon, refine=0, target=2)
    assert found.target.index == 2
    assert "mean of all classes" in found.target.scale
    asked = piste.explain(texts[0], classifier, lexicon=lexicon, target=2)
    assert asked.target == found.target
    assert asked.base + asked.scores["effect"].sum() == pytest.approx(found.target.score)


def test_the_whole_vocabulary(wordpiece):
    classifier = piste.load(tiny_bert(len(wordpiece)), wordpiece, backend="torch")
    lexicon = piste.build_lexicon(["good film"], classifier, whole_vocabulary=True)
    assert len(lexicon) >= len(wordpiece) - len(wordpiece.all_special_ids)


def test_what_cannot_be(classifier, lexicon, planted):
    with pytest.raises(InputError, match="no words"):
        piste.build_lexicon(["", "  "], classifier)
    with pytest.raises(SettingError, match="effort"):
        piste.build_lexicon(["w1"], classifier, effort=0)
    with pytest.raises(SettingError, match="refine"):
        piste.explain("w1 w2", classifier, refine=3)
    with pytest.raises(SettingError, match="SLALOM"):
        piste.explain("w1 w2", classifier, "lime", lexicon=lexicon)
    other = piste.from_function(planted, ["a", "b"])
    with pytest.raises(PisteError, match="built for"):
        piste.explain("w1 w2", other, "slalom", lexicon=lexicon)
    with pytest.raises(PisteError, match="built for"):
        piste.explain("w1 w2", classifier, "slalom", lexicon=lexicon, unit="sentence")
