"""Errors of known size."""

import numpy as np
import pytest
from onnxruntime_ep_octet.compare.measures import measure
from onnxruntime_ep_octet.compare.tolerances import Tolerance


def test_floats() -> None:
    found, expected = np.float32([[1, 2.5], [0, -4]]), np.float32([[1, 2], [0, -5]])
    result = measure(found, expected)
    assert (result.elements, result.differing, result.max_abs, result.mean_abs) == (4, 2, 1.0, 0.375)
    assert (result.max_rel, result.mean_rel) == (0.25, pytest.approx(0.15))
    assert result.cosine == pytest.approx((1 + 5 + 20) / np.sqrt((1 + 6.25 + 16) * (1 + 4 + 25)))
    assert result.top1 == 1
    assert result.steps == {}
    assert measure(np.float32([[3, 1], [0, 1]]), np.float32([[1, 3], [0, 1]])).top1 == 0.5


def test_steps_of_8_bit_values() -> None:
    result = measure(np.uint8([0, 255, 7, 9]), np.uint8([255, 0, 7, 8]))
    assert result.steps == {"-255": 1, "0": 1, "1": 1, "255": 1}
    assert result.max_abs == 255


def test_values_that_are_no_numbers() -> None:
    nan, inf = np.nan, np.inf
    same = measure(np.float32([nan, inf, -inf]), np.float32([nan, inf, -inf]))
    assert (same.differing, same.max_abs) == (0, 0)
    for found, expected in ((nan, 1), (1, nan), (inf, -inf), (inf, 1)):
        assert measure(np.float32([found]), np.float32([expected])).max_abs == inf
        assert not Tolerance(atol=1e30, rtol=1e30).accepts(np.float32([found]), np.float32([expected]))


def test_empty_and_scalar() -> None:
    assert measure(np.zeros((0, 3)), np.zeros((0, 3))).max_abs == 0
    assert measure(np.float32(2), np.float32(1)).max_abs == 1


def test_what_tolerances_accept() -> None:
    tolerance = Tolerance(atol=0.5, rtol=0.1, steps=2)
    assert tolerance.accepts(np.float32([10, 0]), np.float32([11.5, 0.5]))
    assert not tolerance.accepts(np.float32([10]), np.float32([12]))
    assert tolerance.accepts(np.uint8([1]), np.uint8([3])) and not tolerance.accepts(np.uint8([1]), np.uint8([4]))
    assert not tolerance.accepts(np.int32([1]), np.int32([2]))
    assert not tolerance.accepts(np.int64([2**62]), np.int64([2**62 + 1]))
