"""What the columns and marks of a summary's tables mean."""

from piste.render.words import counted
from piste.runs.shards import MOST_PAIRS
from piste.runs.word_summary import SPURIOUS_TEXTS
from piste.runs.word_tally import FEW_TEXTS, LESSER_SHARE, ONE_SIDED

MARKS = {  # what rows are marked with, and what the page's filter calls it
    "both sides": "on both sides (the rarer one in"
    f" {counted(LESSER_SHARE)} or more of the sure occurrences; felt on both)",
    "mistakes": "decide wrong predictions",
    "spurious?": f"candidates for spurious words (in {SPURIOUS_TEXTS} labelled texts or more)",
}
MEANINGS = {
    "effect": "what the word contributes to the score of a text, on average over its texts",
    "lin": "value × e^importance, on average over its texts",
    "value": "the score that the word would get alone",
    "importance": "how much the word weighs beside others; 0 is the average word",
    "flips": f"share of the occurrences that are surely on one side (beyond {ONE_SIDED} standard"
    f" errors) that are on the rarer side (for words with {FEW_TEXTS} such occurrences or more)",
    "lift": "how much more often its texts have the label in the data, in percentage points (for"
    f" words in {FEW_TEXTS} labelled texts or more)",
    "wrong": "wrong predictions for which this is the strongest word",
    "together": "the interaction, on average over all texts with both words: what the two say"
    " beyond what each says by itself, above 0 for the label, below 0 against it",
    "how": "what that means for two words that each speak for the label or against it on average:"
    " they reinforce each other; they overlap, and say less together; or one weakens the other",
    "in texts": "texts in which one of the"
    f" {MOST_PAIRS} strongest pairs is the word's, beyond chance",
    "size": "the word's strongest interaction in these texts, whichever way, on average",
    "with": "the words that it acts with most often, and in how many texts",
    "listed": f"texts in which the pair is among the {MOST_PAIRS} strongest",
    "where listed": "the mean over these texts only, which are the pair's strongest cases",
    "precision": "of the texts predicted so, the share labelled so in the data",
    "recall": "of the texts labelled so in the data, the share predicted so",
}
