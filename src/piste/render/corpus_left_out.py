"""What the tables of a summary leave out, in words: what is in too few texts to be told of all."""

from __future__ import annotations

from collections.abc import Sequence

from piste.runs.pair_summary import WordPair
from piste.runs.word_summary import Summary
from piste.runs.word_tally import Word


def rare_words(summary: Summary) -> str:
    """How many words are in too few texts for a mean; nothing where none is."""
    few, least = in_fewer(summary.words, summary.least), summary.least
    total = len(summary.words)
    return _left_out(few, total, "word", f"in fewer than {least} texts", "their means say little")


def rare_pairs(summary: Summary) -> str:
    """The same of the pairs that act together; where all are, what the few shown ones are."""
    sure, often, least = summary.together(1), summary.together(), summary.least_listed
    few, shown = len(sure) - len(often), len(summary.paired()) - len(often)
    if sure and not often:
        return _all_rare(shown, len(sure), least)
    why, little = f"among the strongest of fewer than {least} texts", "say little about other texts"
    if shown == few == 1:
        return f"1 of {len(sure):,} pairs is {why}: it is shown last, and says {little[4:]}"
    if shown:
        some = "they are" if shown == few else f"the {shown} strongest of them are"
        some = "the strongest of them is" if shown == 1 else some
        little = f"says {little[4:]}" if shown == 1 else little
        return f"{few:,} of {len(sure):,} pairs are {why}: {some} shown last, and {little}"
    little = f"it says {little[4:]}" if few == 1 else f"they {little}"
    return _left_out(few, len(sure), "pair", why, little)


def _all_rare(shown: int, sure: int, least: int) -> str:
    """ "no pair is among the strongest of 3 texts or more: these are ..."."""
    none = f"no pair is among the strongest of {least} texts or more"
    if sure == 1:
        return f"{none}: this one is of fewer, and says little about other texts"
    these = f"the {shown} strongest of {sure:,}, " if shown < sure else ""
    each = "one text" if least == 2 else "one or two texts"
    return f"{none}: these are {these}listed in {each} each, and say little about other texts"


def cut_words(listed: Sequence[Word], summary: Summary) -> str:
    """How many words the page leaves out, and why."""
    told = []
    total, few = len(summary.words), in_fewer(summary.words, summary.least)
    rare = in_fewer(listed, summary.least)
    if len(listed) - rare < total - few:
        told.append(
            f"{len(listed):,} of {total:,} words are listed: those that stand out, then the"
            " strongest."
        )
    if few:
        told.append(f"{rare_words(summary)}.")
    if rare:
        stand = "1 of them stands" if rare == 1 else f"{rare:,} of them stand"
        told.append(f"{stand} out: search, or choose among “Words”, to see what does.")
    return " ".join([*told, "The JSON file (--json) holds all words."]) if told else ""


def in_fewer(words: Sequence[Word], least: int) -> int:
    """How many of the words are in fewer texts."""
    return sum(word.texts < least for word in words)


def only_in(pair: WordPair, summary: Summary) -> str:
    """ "listed in 1 text", of a pair that is shown as there are none of more texts."""
    few = pair.listed < summary.least_listed
    return f"listed in {pair.listed} text{'s' if pair.listed > 1 else ''}" if few else ""


def _left_out(count: int, total: int, what: str, where: str, why: str) -> str:
    """ "12 of 40 words are in fewer than 5 texts and are left out: ..."."""
    are = "is" if count == 1 else "are"
    several = f"{what}{'' if total == 1 else 's'}"
    return (
        f"{count:,} of {total:,} {several} {are} {where} and {are} left out: {why}" if count else ""
    )
