"""What may be asked, with limits. FastAPI turns these into the schema at /openapi.json."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from piste.web.settings import MOST_CHARACTERS

Name = Annotated[str, Field(max_length=200)]


class Asked(BaseModel):
    """A text, and how to explain it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(min_length=1, max_length=MOST_CHARACTERS)
    pair: str | None = Field(
        None, max_length=MOST_CHARACTERS, description="A second text, for a model that takes two."
    )
    model: Name | None = Field(None, description="One of /api/models; the first, if left out.")
    method: Name = Field("slalom", description="One of the model's methods.")
    target: Name | None = Field(
        None, description='A label, "predicted" (as if left out) or "runner-up".'
    )
    unit: Literal["word", "token", "sentence"] = "word"
    repeats: Literal["shared", "separate"] = "shared"
    seed: StrictInt = Field(0, ge=0, lt=2**31)
    budget: StrictInt | None = Field(
        None, ge=1, le=20_000, description="The most sequences to ask of the model."
    )
    tolerance: float | None = Field(None, gt=0, le=1)


class AskedWithout(Asked):
    """The same, and which of its words are removed."""

    removed: list[Annotated[StrictInt, Field(ge=0, lt=MOST_CHARACTERS)]] = Field(
        max_length=MOST_CHARACTERS, description="Indices into the explanation's `players`."
    )


class AskedOfMany(Asked):
    """The same for several methods; `method` is not used."""

    methods: list[Name] | None = Field(
        None, min_length=1, max_length=12, description="Seven usual ones, if left out."
    )
    measure: bool = Field(False, description="Also try each explanation on the model.")


class ModelInfo(BaseModel):
    """A model that was given at the start."""

    name: str
    labels: list[str] = Field(description="Empty where the model has not said them yet.")
    methods: dict[str, str] = Field(description="The methods that apply, and what they give.")


class Models(BaseModel):
    """What can be asked of this server."""

    models: list[ModelInfo]
    units: list[str]
    max_chars: int


class Said(BaseModel):
    """A score of the target, on its scale."""

    score: float
    probability: float | None = Field(description="None on the raw scale.")


class Answer(BaseModel):
    """The model's true answer to the text without some words, and what was predicted."""

    removed: list[int]
    label: str = Field(description="The explained label.")
    scale: str
    whole: Said = Field(description="The model, on the whole text.")
    true: Said = Field(description="The model, without the words.")
    before: str = Field(description="The label that the model chooses for the whole text.")
    decision: str = Field(description="The label that it chooses without the words.")
    predicted: Said | None = Field(description="The explanation; None if it predicts no answers.")
    why: str | None = Field(description="Why nothing is predicted.")


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
