"""What may be asked, with limits. FastAPI turns these into the schema at /openapi.json."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    create_model,
    model_validator,
)

from piste.errors import InputError, PisteError, SettingError, choices
from piste.options import DEFAULT, Options
from piste.validation import unfit
from piste.web.settings import MOST_CHARACTERS

LONGEST_NAME = 200
Name = Annotated[str, Field(max_length=LONGEST_NAME)]
PlayerIndex = Annotated[StrictInt, Field(ge=0, lt=MOST_CHARACTERS)]
MOST_PARTS = 100  # predicted by one request
MOST_SPANS = 1000
Request = TypeVar("Request", bound="ExplainRequest")
# What a client may set: not files of the server's, nor how much memory it takes.
SETTINGS = {
    setting.name: setting for setting in dataclasses.fields(Options) if setting.metadata["remote"]
}
Kind = Literal["text", "whole number", "number", "yes or no"]
KINDS: dict[type, Kind] = {int: "whole number", float: "number", bool: "yes or no"}
Place = Annotated[StrictInt, Field(ge=0, le=MOST_CHARACTERS)]
Pairs = Annotated[tuple[tuple[Place, Place], ...], Field(max_length=MOST_SPANS)]
GivenSpans = Annotated[str, Field(max_length=40 * MOST_SPANS)] | Pairs  # "0-12, 20-31", or pairs
LIMITS: dict[str, dict[str, Any]] = {  # beyond what `Options` checks: one client among others
    "seed": {"ge": 0, "lt": 2**31},
    "budget": {"ge": 1, "le": 20_000},
    "tolerance": {"gt": 0, "le": 1},
}


class Strict(BaseModel):
    """Fields and no others: of one that does not exist the name is guessed, as in Python."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        names = list(cls.model_fields)
        for name in given if isinstance(given, Mapping) else ():
            if name not in names:
                raise choices("setting", str(name)[:LONGEST_NAME], names)
        return given


class ExplainRequest(Strict):
    """A text, and how to explain it: `_with_settings` adds the settings of `Options`."""

    text: str = Field(max_length=MOST_CHARACTERS)
    pair: str | None = Field(
        None, max_length=MOST_CHARACTERS, description="A second text, for a model that takes two."
    )
    model: Name | None = Field(None, description="One of /api/models; the first, if left out.")
    method: Name = Field("context", description="One of the model's methods.")
    pairs: StrictInt = Field(
        10, ge=0, le=1000, description="How many interactions /api/explain lists, strongest first."
    )

    def options(self) -> Options:
        """The settings, checked."""
        return Options.of(**{name: getattr(self, name) for name in SETTINGS})

    def key(self) -> tuple[object, ...]:
        """What two requests must have in common to share an explanation."""
        settings = tuple(getattr(self, name) for name in SETTINGS)
        return (self.text, self.pair, self.model, self.method, *settings)


class RemovalRequest(ExplainRequest):
    """The same, and which of its words are removed."""

    removed: list[PlayerIndex] = Field(
        max_length=MOST_CHARACTERS, description="Indices into the explanation's `players`."
    )


class PredictRequest(ExplainRequest):
    """The same, and the parts of the text whose score is to be predicted."""

    kept: list[list[PlayerIndex]] = Field(
        min_length=1,
        max_length=MOST_PARTS,
        description="For each part, the indices of the `players` that stay.",
    )


class Edit(Strict):
    """A word of the text, and what stands in its place."""

    player: PlayerIndex = Field(description="Index into the explanation's `players`.")
    text: str = Field(max_length=MOST_CHARACTERS, description="The new words; empty removes it.")


class EditRequest(ExplainRequest):
    """The same, and which of its words are replaced."""

    edits: list[Edit] = Field(max_length=MOST_CHARACTERS)


class CompareRequest(ExplainRequest):
    """The same for several methods; `method` is not used."""

    methods: list[Name] | None = Field(
        None, min_length=1, max_length=12, description="Seven usual ones, if left out."
    )
    measure: bool = Field(False, description="Also try each explanation on the model.")


def _with_settings(request: type[Request]) -> type[Request]:
    """The request with a field for every setting that a client may choose."""
    fields: dict[str, Any] = {name: _field(SETTINGS[name]) for name in SETTINGS}
    return create_model(request.__name__, __base__=request, __doc__=request.__doc__, **fields)


def _field(setting: dataclasses.Field[Any]) -> tuple[Any, Any]:
    """The type and the limits of a setting, as pydantic wants them."""
    kind, names, default = setting.metadata["kind"], setting.metadata["names"], setting.default
    wanted: Any = {str: Name, int: StrictInt, bool: StrictBool, tuple: GivenSpans}.get(kind, kind)
    if names:
        wanted = Literal[names]
    if default is None:
        wanted = wanted | None
    limits = LIMITS.get(setting.name, {})
    return wanted, Field(default, description=setting.metadata["help"], **limits)


if not TYPE_CHECKING:  # mypy reads the classes above
    ExplainRequest = _with_settings(ExplainRequest)
    RemovalRequest = _with_settings(RemovalRequest)
    PredictRequest = _with_settings(PredictRequest)
    EditRequest = _with_settings(EditRequest)
    CompareRequest = _with_settings(CompareRequest)


def refusal(found: Mapping[str, Any], body: Any) -> PisteError:
    """What is wrong with a request. found: the first error that pydantic tells; body: all of it.

    A setting is checked once more as in Python, which says it best.
    """
    where = found["loc"][1:]  # after "body" or "path"
    if found["type"] == "json_invalid" or not where:
        return InputError("The request is no JSON object.", 'Send one: {"text": "A good film."}')
    name = str(where[0])
    if name in SETTINGS and isinstance(body, Mapping) and len(str(body.get(name))) <= LONGEST_NAME:
        try:
            Options.of(**{name: body.get(name)})
        except SettingError as error:
            return error
    return unfit(".".join(map(str, where)), found)


class ModelInfo(BaseModel):
    """A model that was given at the start."""

    name: str
    labels: list[str] = Field(description="Empty where the model has not said them yet.")
    methods: dict[str, str] = Field(description="The methods that apply, and what they give.")


class SettingInfo(BaseModel):
    """A setting of an explanation, as in `piste.explain`."""

    name: str
    help: str
    kind: Kind
    names: list[str] = Field(description="The values it can have; empty where there are others.")
    default: bool | str | int | float | None


class Models(BaseModel):
    """What can be asked of this server."""

    models: list[ModelInfo]
    settings: list[SettingInfo]
    targets: list[str] = Field(description="Names for a target beside the labels; all: each class.")
    max_chars: int
    example: str = Field(description="The text that the page starts with.")


def offered() -> list[SettingInfo]:
    """The settings that a client may choose, for a form."""
    return [
        SettingInfo(
            name=setting.name,
            help=setting.metadata["help"],
            kind=KINDS.get(setting.metadata["kind"], "text"),
            names=list(setting.metadata["names"]),
            default=getattr(DEFAULT, setting.name),
        )
        for setting in SETTINGS.values()
    ]


class Said(BaseModel):
    """A score of the target, on its scale."""

    score: float
    probability: float | None = Field(
        description="None on the raw scale, and where a score predicted for all classes has none."
    )
    error: float | None = Field(
        None, description="Standard error of the score; None where it is not known, 0 if asked."
    )


class RemovalAnswer(BaseModel):
    """The model's true answer to the text without some words, and what was predicted."""

    removed: list[int]
    label: str = Field(description="The explained label; of a contrast, both: A rather than B.")
    scale: str
    whole: Said = Field(description="The model, on the whole text.")
    true: Said = Field(description="The model, without the words.")
    before: str = Field(
        description="What the model says of the whole text: the label that it chooses, or"
        " of one that others do not exclude, whether it holds (toxic, not toxic)."
    )
    decision: str = Field(description="What it says without the words.")
    predicted: Said | None = Field(description="The explanation; None if it predicts no answers.")
    why: str | None = Field(description="Why nothing is predicted.")


class Predictions(BaseModel):
    """What the explanation predicts for parts of the text, in the order they were asked."""

    label: str = Field(description="The explained label; of a contrast, both: A rather than B.")
    scale: str
    predicted: list[Said]


class EditAnswer(BaseModel):
    """The model's answer to the edited text."""

    text: str = Field(description="The edited text.")
    pair: str | None = Field(description="The edited second text, where there is one.")
    label: str = Field(description="The explained label; of a contrast, both: A rather than B.")
    scale: str
    whole: Said = Field(description="The model, on the text as it was.")
    true: Said = Field(description="The model, on the edited text.")
    before: str = Field(description="What the model said of the text as it was.")
    decision: str = Field(description="What it says of the edited text.")


class Curve(BaseModel):
    """The probability (or the raw score) of the target while words are removed."""

    label: str
    scale: str
    method: str
    removed: list[float] = Field(description="Shares of the words that are gone; from 0.")
    by_score: list[float] = Field(description="Highest-scored words first.")
    at_random: list[float] = Field(description="The mean of several random orders.")


class Failure(BaseModel):
    """What went wrong, and what to do about it."""

    error: str
    remedy: str
