"""How far two results are apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .cases import Array


@dataclass
class Measure:
    """Of one output against another. Relative errors are taken where the expected value is finite and not 0."""

    elements: int
    differing: int
    max_abs: float
    mean_abs: float
    max_rel: float
    mean_rel: float
    cosine: float | None
    top1: float | None  # share of rows whose largest element is at the same place
    steps: dict[str, int] = field(default_factory=dict)  # of 8-bit values: difference and how often it occurs


def _wide(array: Array) -> Array:
    return array.astype(np.float64 if array.dtype.kind in "fcV" or array.dtype.itemsize > 4 else np.int64)


def absolute_errors(found: Array, expected: Array) -> Array:
    """Equal infinities and two NaN are no difference; a NaN against a number is an infinite one."""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    if found.dtype.kind in "iu" and expected.dtype.kind in "iu":  # 64 bits do not fit a double
        return np.where(found == expected, 0.0, np.maximum(np.abs(a - b), 1.0))
    with np.errstate(invalid="ignore"):
        errors = np.abs(a - b)
    errors = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, errors)
    return np.where(np.isnan(errors), np.inf, errors)


def measure(found: Array, expected: Array) -> Measure:
    errors = absolute_errors(found, expected)
    magnitude = np.abs(expected.astype(np.float64))
    relative_to = np.isfinite(magnitude) & (magnitude > 0)
    relative = errors[relative_to] / magnitude[relative_to]
    return Measure(
        elements=int(errors.size),
        differing=int(np.count_nonzero(errors)),
        max_abs=_max(errors),
        mean_abs=_mean(errors),
        max_rel=_max(relative),
        mean_rel=_mean(relative),
        cosine=_cosine(found, expected),
        top1=_top1(found, expected),
        steps=_steps(found, expected),
    )


def _max(values: Array) -> float:
    return float(np.max(values)) if values.size else 0.0


def _mean(values: Array) -> float:
    return float(np.mean(values)) if values.size else 0.0


def _cosine(found: Array, expected: Array) -> float | None:
    a, b = found.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / length if np.isfinite(length) and length > 0 else None


def _top1(found: Array, expected: Array) -> float | None:
    if expected.ndim == 0 or expected.shape[-1] < 2 or expected.size == 0:
        return None
    return float(np.mean(np.argmax(found, axis=-1) == np.argmax(expected, axis=-1)))


def _steps(found: Array, expected: Array) -> dict[str, int]:
    if expected.dtype not in (np.uint8, np.int8):
        return {}
    values, counts = np.unique(_wide(found) - _wide(expected), return_counts=True)
    return {str(value): int(count) for value, count in zip(values.tolist(), counts.tolist(), strict=True)}


def same_form(found: Array, expected: Array) -> str:
    """Why the two cannot be compared; "" where they can."""
    forms: list[Any] = [(array.dtype.name, list(array.shape)) for array in (found, expected)]
    return "" if forms[0] == forms[1] else f"is {forms[0][0]}{forms[0][1]}, in onnxruntime {forms[1][0]}{forms[1][1]}"
