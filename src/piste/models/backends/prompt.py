"""A prompt around a text, as tokens: the text's own are players, all others are the frame.

Every part is tokenised by itself. So a text that spells a special token cannot make one, and what
is removed from the text does not change the tokens of the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from piste.errors import InputError, ModelError, SettingError, kind_of
from piste.models import loading_errors
from piste.models.backends.endpoint import TEXT
from piste.models.backends.reading import check_ids, unknown
from piste.text.encoding import BETWEEN, Encoding, Frame
from piste.text.units import Span

PAIR = "{pair}"  # where the second text of a pair stands
ANCHOR = "\n"  # put before a part, and cut off again, where a tokenizer begins with a blank
JOINED_BY_BLANK = ":.,;!?)]"  # after these, and after words, a writer leaves a blank
Token = tuple[int, int, int]  # its id, and where it begins and ends


@dataclass(frozen=True)
class Prompt:
    """What stands before the text, between the two texts of a pair, and behind."""

    tokenizer: Any  # PreTrainedTokenizerFast
    parts: tuple[str, ...]
    begin: tuple[int, ...] = ()  # the tokens that begin every sequence
    limit: int = 0  # the longest sequence that may be asked
    vocabulary: int | None = None  # how many ids the model knows, where that is known

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """The text, or both texts of a pair, however long, framed by the prompt."""
        self._check_pair(pair)
        first = self._part(0, text)
        if pair is None:
            return self._checked(replace(first, frame=replace(first.frame, suffix=self._suffix)))
        second, shift = self._part(1, pair), len(text + BETWEEN)
        return self._checked(
            Encoding(
                text=text + BETWEEN + pair,
                ids=first.ids + second.ids,
                spans=first.spans + tuple((a + shift, b + shift) for a, b in second.spans),
                keys=first.keys + second.keys,
                frame=Frame(first.frame.prefix, self._suffix, second.frame.prefix),
                second=shift,
            )
        )

    def answer(self, label: str) -> tuple[int, ...]:
        """The tokens of a label that follows the prompt, with a blank where a writer leaves one."""
        end = self.parts[-1].rstrip(" ")
        blank = self.parts[-1][len(end) :] or _blank_after(end)
        written = label if label[:1].isspace() else blank + label
        return tuple(token for token, _, _ in self._tokens(written))

    def _check_pair(self, pair: str | None) -> None:
        if pair is not None and len(self.parts) < 3:
            raise SettingError(
                f"The prompt has no {PAIR} for the second text.",
                f"Put {PAIR} where it belongs, or explain one text.",
            )
        if pair is None and len(self.parts) > 2:
            raise SettingError(f"The prompt has a {PAIR}.", "Give the second text: pair=...")

    def _part(self, index: int, text: str) -> Encoding:
        """One text, and as prefix what stands right before it.

        The blank before the text is read with it, as tokenizers put it into a word's first token;
        what makes a token of its own goes back to the prompt.
        """
        head = self.parts[index].rstrip()
        blank = self.parts[index][len(head) :]
        tokens = self._tokens(blank + text, literal=True, behind=bool(head or index))
        lead = [token for token, _, end in tokens if end <= len(blank)]
        body = tokens[len(lead) :]
        ids = tuple(token for token, _, _ in body)
        before = self._ids(head, behind=True) if index else self.beginning
        return Encoding(
            text=text,
            ids=ids,
            spans=tuple(_moved((start, end), -len(blank)) for _, start, end in body),
            keys=ids,
            frame=Frame((*before, *lead)),
        )

    def _checked(self, encoding: Encoding) -> Encoding:
        """With its limit and its notes; refused where the model could not read it."""
        special = self._special & set(encoding.ids)
        if special:
            shown = self.tokenizer.decode([min(special)])
            raise InputError(
                f"The text holds {shown!r}, which the tokenizer can only read as a special token.",
                "Take it out of the text.",
            )
        frame, room = encoding.frame, self.limit - encoding.frame.size
        check_ids([*frame.prefix, *encoding.ids, *frame.suffix], self.vocabulary)
        if room < 1:
            raise SettingError(
                f"The prompt alone has {frame.size:,} tokens; the model reads {self.limit:,}.",
                "Shorten the prompt.",
            )
        notes = unknown(encoding.ids, self.tokenizer)
        return replace(encoding, limit=room, notes=notes)

    @cached_property
    def beginning(self) -> tuple[int, ...]:
        """The tokens that stand before every text, whatever it is."""
        return self.begin + self._ids(self.parts[0].rstrip())

    @cached_property
    def _suffix(self) -> tuple[int, ...]:
        """What follows the last text; blanks at its end are read with the label."""
        return self._ids(self.parts[-1].rstrip(" "), behind=True)

    @cached_property
    def _special(self) -> set[int]:
        known = self.tokenizer.added_tokens_decoder.items()
        return {token for token, what in known if what.special} - {self.tokenizer.unk_token_id}

    @cached_property
    def _begins_with_blank(self) -> bool:
        """SentencePiece puts a blank before whatever it takes for a beginning."""
        return any(token.startswith("▁") for token in self.tokenizer.tokenize("a")[:1])

    def _ids(self, text: str, behind: bool = False) -> tuple[int, ...]:
        return tuple(token for token, _, _ in self._tokens(text, behind=behind))

    def _tokens(self, text: str, *, literal: bool = False, behind: bool = True) -> list[Token]:
        """The tokens of a part. literal: special tokens are spelled; behind: no beginning."""
        if not text:
            return []
        anchor = ANCHOR if behind and self._begins_with_blank else ""
        encoded = self.tokenizer(
            anchor + text,
            add_special_tokens=False,
            split_special_tokens=literal,
            return_offsets_mapping=True,
        )
        shift = len(anchor)
        pairs = zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        return [(token, a - shift, b - shift) for token, (a, b) in pairs if b > shift or not anchor]


def read_prompt(tokenizer: Any, prompt: str) -> Prompt:
    """The prompt in its parts, as the user's message of a chat where the tokenizer knows chats."""
    _check(prompt)
    chat = bool(getattr(tokenizer, "chat_template", None))
    written = _as_chat(tokenizer, prompt) if chat else prompt
    marks = (TEXT, PAIR) if PAIR in prompt else (TEXT,)
    if any(written.count(mark) != 1 for mark in marks):
        raise ModelError(
            "The tokenizer's chat template does not repeat the prompt as it is.",
            "Remove the template (tokenizer.chat_template = None) and write the chat yourself.",
        )
    before, rest = written.split(TEXT)
    parts = (before, *rest.split(PAIR)) if PAIR in marks else (before, rest)
    return Prompt(tokenizer, parts, begin=() if chat else _beginning(tokenizer))


def check_answers(labels: Sequence[str], answers: Sequence[tuple[int, ...]]) -> None:
    """Refuse labels that cannot be told apart: every answer of one would count for the other."""
    if len(labels) < 2:
        raise SettingError(f"There are too few labels: {list(labels)}.", "Give at least two.")
    for label, answer in zip(labels, answers, strict=True):
        if not label.strip() or not answer:
            raise SettingError(f"The label {label!r} has no tokens.", "Give a word.")
    for i, short in enumerate(answers):
        for j, long in enumerate(answers):
            if i != j and long[: len(short)] == short:
                raise SettingError(
                    f"To the model the label {labels[j]!r} begins with the label {labels[i]!r}:"
                    " what is probable for one is so for the other.",
                    "Use words of which none begins another.",
                )


def _check(prompt: object) -> None:
    if not isinstance(prompt, str):
        raise SettingError(f"The prompt is {kind_of(prompt)}.", "Give a string.")
    if prompt.count(TEXT) != 1 or prompt.count(PAIR) > 1:
        raise SettingError(
            f"The prompt has {TEXT} {prompt.count(TEXT)} times and {PAIR} {prompt.count(PAIR)}.",
            f"Put {TEXT} once where the text belongs, and {PAIR} once for a second text.",
        )
    if PAIR in prompt and prompt.index(PAIR) < prompt.index(TEXT):
        raise SettingError(f"{PAIR} stands before {TEXT}.", "Put the first text first.")


def _as_chat(tokenizer: Any, prompt: str) -> str:
    messages = [{"role": "user", "content": prompt}]
    try:
        return str(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        )
    except Exception as error:  # a template is a program of its own
        raise ModelError(
            f"The tokenizer's chat template fails: {loading_errors.first_line(error)}.",
            "Remove it (tokenizer.chat_template = None) and write the chat into the prompt.",
        ) from error


def _beginning(tokenizer: Any) -> tuple[int, ...]:
    """The special tokens that the tokenizer puts before a text."""
    encoded = tokenizer("a")
    owners: list[int | None] = encoded.sequence_ids(0)
    first = next((i for i, owner in enumerate(owners) if owner is not None), 0)
    return tuple(encoded["input_ids"][:first])


def _blank_after(end: str) -> str:
    """A label follows a word or a colon after a blank; a line's end or a quote at once."""
    last = end[-1:]
    return " " if not last or last.isalnum() or last in JOINED_BY_BLANK else ""


def _moved(span: Span, by: int) -> Span:
    return max(0, span[0] + by), max(0, span[1] + by)
