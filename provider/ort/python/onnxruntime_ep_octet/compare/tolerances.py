"""What counts as the same: defaults, and a YAML file.

default:
  float: {atol: 1.0e-5, rtol: 1.0e-4}     # |octet - onnxruntime| <= atol + rtol * |onnxruntime|
  steps: 1                                 # of 8-bit values; other integers must be equal
rules:      # of an operator, node, output, model or version of onnxruntime; the last that fits wins; names may hold
            # * and ?, or be lists
  - {output: "logits", float: {atol: 1.0e-3, rtol: 0}}
  - {operator: "com.microsoft.QLinearAdd", node: "/encoder/*", steps: 0}
known_differences:                         # reported by name, not counted as differences
  - {name: "saturation", operator: "MatMulInteger", reason: "onnxruntime saturates u8 x s8 without VNNI"}
  - {name: "rounding", operator: "QuantizeLinear", onnxruntime: "1.24.*", reason: "mended in 1.32"}
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import yaml

from .cases import Array
from .measures import absolute_errors
from .models import BadArgument

_PLACE = ("operator", "node", "output", "model", "onnxruntime")


@dataclass(frozen=True)
class Place:
    """Where a result comes from; "" where it has no such name. `onnxruntime` is the version of the other side."""

    model: str = ""
    operator: str = ""
    node: str = ""
    output: str = ""
    onnxruntime: str = ort.__version__


@dataclass(frozen=True)
class Tolerance:
    atol: float = 1e-5
    rtol: float = 1e-4
    steps: int = 1

    def accepts(self, found: Array, expected: Array) -> bool:
        errors = absolute_errors(found, expected)
        if expected.dtype in (np.uint8, np.int8):
            return bool(np.all(errors <= self.steps))
        if expected.dtype.kind in "iub":
            return not bool(np.any(errors))
        allowed = self.atol + self.rtol * np.abs(expected.astype(np.float64))
        return bool(np.all(errors <= np.where(np.isfinite(allowed), allowed, 0.0)))


@dataclass(frozen=True)
class _Rule:
    place: dict[str, list[str]]
    change: dict[str, float]
    name: str = ""
    reason: str = ""

    def fits(self, place: Place) -> bool:
        return all(
            any(fnmatchcase(getattr(place, key), pattern) for pattern in patterns)
            for key, patterns in self.place.items()
        )


@dataclass(frozen=True)
class Tolerances:
    default: Tolerance = Tolerance()
    rules: list[_Rule] = field(default_factory=list)
    known: list[_Rule] = field(default_factory=list)

    def at(self, place: Place) -> Tolerance:
        tolerance = self.default
        for rule in self.rules:
            if rule.fits(place):
                changes: Any = rule.change
                tolerance = replace(tolerance, **changes)
        return tolerance

    def known_difference(self, place: Place) -> str:
        """Name and reason of the first that fits, or ""."""
        return next((f"{rule.name}: {rule.reason}" for rule in self.known if rule.fits(place)), "")


def read_tolerances(path: Path) -> Tolerances:
    try:
        content = yaml.safe_load(path.read_text()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise BadArgument(f"{path}: {error}") from None
    reader = _Reader(str(path))
    reader.keys(content, "the file", ("default", "rules", "known_differences"))
    default = content.get("default", {})
    reader.keys(default, "default", ("float", "steps"))
    return Tolerances(
        replace(Tolerance(), **reader.change(default, "default")),
        [reader.rule(rule, f"rules[{i}]") for i, rule in enumerate(reader.items(content, "rules"))],
        [
            reader.known(rule, f"known_differences[{i}]")
            for i, rule in enumerate(reader.items(content, "known_differences"))
        ],
    )


class _Reader:
    """Refuses what it does not know, and says where it stands."""

    def __init__(self, file: str) -> None:
        self._file = file

    def fail(self, where: str, text: str) -> BadArgument:
        return BadArgument(f"{self._file}: {where} {text}")

    def keys(self, value: Any, where: str, allowed: tuple[str, ...]) -> None:
        if not isinstance(value, dict):
            raise self.fail(where, f"is {value!r}, expected keys and values")
        for key in value:
            if key not in allowed:
                raise self.fail(where, f"has '{key}', expected one of {', '.join(allowed)}")

    def items(self, content: dict[str, Any], key: str) -> list[Any]:
        value = content.get(key) or []
        if not isinstance(value, list):
            raise self.fail(key, f"is {value!r}, expected a list")
        return value

    def number(self, value: Any, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise self.fail(where, f"is {value!r}, expected a number of at least 0")
        return value

    def change(self, value: Any, where: str) -> dict[str, Any]:
        self.keys(value, where, ("float", "steps", *_PLACE))
        numbers = value.get("float", {})
        self.keys(numbers, f"{where}.float", ("atol", "rtol"))
        change = {key: self.number(number, f"{where}.float.{key}") for key, number in numbers.items()}
        if "steps" in value:
            change["steps"] = self.number(value["steps"], f"{where}.steps")
        return change

    def place(self, value: dict[str, Any], where: str) -> dict[str, list[str]]:
        place = {key: value[key] if isinstance(value[key], list) else [value[key]] for key in _PLACE if key in value}
        for key, patterns in place.items():
            for pattern in patterns:
                if not isinstance(pattern, str):
                    raise self.fail(f"{where}.{key}", f"is {pattern!r}, expected a name")
        if not place:
            raise self.fail(where, f"names none of {', '.join(_PLACE)}")
        return place

    def rule(self, value: Any, where: str) -> _Rule:
        change = self.change(value, where)
        if not change:
            raise self.fail(where, "changes neither float nor steps")
        return _Rule(self.place(value, where), change)

    def known(self, value: Any, where: str) -> _Rule:
        self.keys(value, where, ("name", "reason", *_PLACE))
        for key in ("name", "reason"):
            if not isinstance(value.get(key), str) or not value[key]:
                raise self.fail(where, f"has no {key}")
        return _Rule(self.place(value, where), {}, value["name"], value["reason"])
