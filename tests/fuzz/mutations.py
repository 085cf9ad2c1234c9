"""Explanation files gone wrong: seeded damage to a valid one, of every kind we could think of."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

Path = tuple[str | int, ...]
ODD_NUMBERS = (
    0, -1, 1, 2, 10**6, 10**20, 10**400, -(10**18), 1e308, -1e308, 1e-320, 5e-324, -0.0, 0.5,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
ODD_TEXTS = (
    "", " ", "\x00", "\x1b[2J", "\ud800", "</script>", "{0}", "%s", "{unit}", "[red]", "\u202e",
    "x" * 5000, "\n" * 50, "$\\frac$", "value", "importance",
)  # fmt: skip


def leaves(data: Any, path: Path = ()) -> list[Path]:
    """The path of every value, containers included."""
    found = [path] if path else []
    if isinstance(data, dict):
        for key, value in data.items():
            found += leaves(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            found += leaves(value, (*path, index))
    return found


def holder(data: Any, path: Path) -> Any:
    for step in path[:-1]:
        data = data[step]
    return data


def odd_value(rng: random.Random) -> Any:
    nested: Any = rng.choice([[], {}, 0])
    for _ in range(rng.choice([1, 3, 50, 300])):
        nested = [nested] if rng.random() < 0.5 else {"a": nested}
    kinds = [None, True, False, nested, rng.choice(ODD_TEXTS), [], {}, [[]], [None], {"": None}]
    return rng.choice([*kinds, rng.choice(ODD_NUMBERS), rng.choice(ODD_NUMBERS)])


def swap_type(data: Any, rng: random.Random) -> None:
    path = rng.choice(leaves(data))
    holder(data, path)[path[-1]] = odd_value(rng)


def drop(data: Any, rng: random.Random) -> None:
    path = rng.choice(leaves(data))
    del holder(data, path)[path[-1]]


def same_type(data: Any, rng: random.Random) -> None:
    """Another value of the right type: what a check of types alone lets through."""
    paths = [path for path in leaves(data) if not isinstance(holder(data, path)[path[-1]], dict)]
    path = rng.choice(paths)
    value = holder(data, path)[path[-1]]
    if isinstance(value, str):
        holder(data, path)[path[-1]] = rng.choice(ODD_TEXTS)
    elif isinstance(value, list):
        holder(data, path)[path[-1]] = value[: len(value) // 2]
    elif isinstance(value, int | float):
        holder(data, path)[path[-1]] = type(value)(rng.choice(ODD_NUMBERS[:10]))


def lengthen(data: Any, rng: random.Random) -> None:
    lists = [path for path in leaves(data) if isinstance(holder(data, path)[path[-1]], list)]
    path = rng.choice(lists)
    value = holder(data, path)[path[-1]]
    value += copy.deepcopy(value) or [odd_value(rng)]


def rename(data: Any, rng: random.Random) -> None:
    path = rng.choice([path for path in leaves(data) if isinstance(path[-1], str)])
    inside = holder(data, path)
    inside[rng.choice(ODD_TEXTS)] = inside.pop(path[-1])


def scores_of_one_size(data: Any, rng: random.Random) -> None:
    """All scores and errors huge, tiny or zero: sums and squares leave what a float can hold."""
    number = rng.choice([0.0, 1e308, -1e308, 5e-324, 1e154])
    for part in rng.choice([("scores",), ("errors",), ("scores", "errors")]):
        for values in data[part].values():
            values[:] = [number * rng.choice([1, -1]) for _ in values]


def nobody(data: Any, rng: random.Random) -> None:
    """A text without players, scores without numbers, or a text that is not theirs."""
    kind = rng.randrange(3)
    if kind == 0:
        data["players"] = []
        for part in ("scores", "errors"):
            data[part] = {name: [] for name in data[part]}
        data["formula"] = data["parts"] = data["flip"] = data["core"] = None
    elif kind == 1:
        data["text"] = rng.choice(ODD_TEXTS)
    else:
        data["scores"] = {data["primary"]: data["scores"][data["primary"]]}
        data["errors"] = {}


STRUCTURAL: tuple[Callable[[Any, random.Random], None], ...] = (
    swap_type, drop, same_type, lengthen, rename, scores_of_one_size, nobody,
)  # fmt: skip


def damaged_bytes(valid: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(5)
    at = rng.randrange(len(valid))
    if kind == 0:
        return valid[:at]
    if kind == 1:
        flipped = bytearray(valid)
        for _ in range(rng.choice([1, 1, 3, 30])):
            flipped[rng.randrange(len(valid))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    if kind == 2:
        opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
        depth = rng.choice([100, 5000, 200_000])
        return opening * depth + b"1" + closing * depth
    if kind == 3:
        return valid[:at] + valid[rng.randrange(len(valid)) :]
    return valid[:at] + b"9" * rng.choice([1, 30, 400, 5000]) + valid[at:]


def damaged(valid: dict[str, Any], seed: int) -> bytes:
    """One malformed file (now and then a valid one: not every change is damage)."""
    rng = random.Random(seed)
    if rng.random() < 0.3:
        return damaged_bytes(json.dumps(valid, indent=1).encode(), rng)
    data = copy.deepcopy(valid)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        try:
            rng.choice(STRUCTURAL)(data, rng)
        except (KeyError, TypeError, AttributeError, IndexError, OverflowError):
            break  # an earlier change took away what this one would change
    return json.dumps(data).encode("utf-8", "surrogatepass")
