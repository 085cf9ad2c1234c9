"""What the two words of a summary's pair do to each other, in a word or three."""

from __future__ import annotations

from piste.render.clean import one_line
from piste.render.together import agrees
from piste.runs.pair_summary import WordPair
from piste.runs.word_summary import Summary

NAME = 12  # characters of a word


def relation(pair: WordPair, summary: Summary) -> str:
    """ "reinforce", "overlap" or "not weakens good"; nothing where the words leave it open.

    The interaction alone does not tell: above 0 it makes more of two words that speak for the
    label, and less of two that speak against it.
    """
    agree = []
    for word in (pair.first, pair.second):
        known = summary.mean_effect(word, pair.label)
        agree.append(None if known is None else agrees(*known, pair.effect))
    if None in agree:
        return ""
    if agree[0] == agree[1]:
        return "reinforce" if agree[0] else "overlap"
    names = [one_line(word, NAME) for word in (pair.first, pair.second)]
    return " weakens ".join(names if agree[0] else names[::-1])
