"""liboctet_reference from Python: what an operator should give, by the scalar reference."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .cases import DATA_TYPES, Array

_MESSAGE_SIZE = 1024
_NUMPY_TO_NUMBER = {np.dtype(numpy_type): number for number, numpy_type in DATA_TYPES.values()}
_FOUR_BITS = (21, 22)


class ReferenceFailed(Exception):
    """The reference refuses the node."""


def packed(array: Array) -> Array:
    """Two 4-bit elements to a byte, the first in the low half."""
    nibbles = array.astype(np.int8).reshape(-1).view(np.uint8) & 15
    nibbles = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8))
    return nibbles[0::2] | nibbles[1::2] << 4


def _unpacked(data: Array, dims: tuple[int, ...], number: int) -> Array:
    nibbles = np.stack([data & 15, data >> 4], axis=1).reshape(-1)[: int(np.prod(dims, dtype=np.int64))]
    values = nibbles if number == 21 else ((nibbles ^ 8).astype(np.int8) - 8)
    numpy_type = next(numpy_type for code, numpy_type in DATA_TYPES.values() if code == number)
    return values.astype(numpy_type).reshape(dims)


class _Tensors:
    """The arrays of one side of the flat call."""

    def __init__(self, numbers: list[int], dims: list[tuple[int, ...]], data: list[Array]) -> None:
        count = len(numbers)
        self.data = data
        flat = [extent for extents in dims for extent in extents]
        self.arguments = (
            ctypes.c_int32(count),
            (ctypes.c_int32 * count)(*numbers),
            (ctypes.c_int32 * count)(*(len(extents) for extents in dims)),
            (ctypes.c_int64 * max(1, len(flat)))(*flat),
            (ctypes.c_void_p * count)(*(array.ctypes.data for array in data)),
        )


class Reference:
    """`folder` is where the library lies: beside the plugin in the wheel."""

    def __init__(self, folder: Path = Path(__file__).resolve().parents[1]) -> None:
        self._run = ctypes.CDLL(str(folder / "liboctet_reference.so")).octet_reference_run
        self._run.restype = ctypes.c_int32

    def run(
        self,
        domain: str,
        op_type: str,
        opset_version: int,
        attributes: dict[str, Any],
        inputs: Sequence[Array | None],
        outputs: Sequence[tuple[int, tuple[int, ...]] | None],
    ) -> list[Array]:
        """Outputs are given as pairs of a TensorProto.DataType number and extents, None where absent; the present ones
        are returned."""
        given = [self._input(array) for array in inputs]
        sources = _Tensors([item[0] for item in given], [item[1] for item in given], [item[2] for item in given])
        wanted = [output or (0, ()) for output in outputs]
        results = _Tensors(
            [number for number, _ in wanted],
            [dims for _, dims in wanted],
            [self._output_memory(number, dims) for number, dims in wanted],
        )
        message = ctypes.create_string_buffer(_MESSAGE_SIZE)
        code = self._run(
            domain.encode(),
            op_type.encode(),
            ctypes.c_int64(opset_version),
            json.dumps(attributes).encode(),
            *sources.arguments,
            *results.arguments,
            message,
            ctypes.c_int64(_MESSAGE_SIZE),
        )
        if code != 0:
            raise ReferenceFailed(message.value.decode())
        return [
            _unpacked(data, dims, number) if number in _FOUR_BITS else data
            for (number, dims), data in zip(wanted, results.data, strict=True)
            if number != 0
        ]

    @staticmethod
    def _input(array: Array | None) -> tuple[int, tuple[int, ...], Array]:
        if array is None:
            return 0, (), np.zeros(0, np.uint8)
        number = _NUMPY_TO_NUMBER[array.dtype]
        data = packed(array) if number in _FOUR_BITS else np.ascontiguousarray(array)
        return number, array.shape, data

    @staticmethod
    def _output_memory(number: int, dims: tuple[int, ...]) -> Array:
        if number == 0:
            return np.zeros(0, np.uint8)
        if number in _FOUR_BITS:
            return np.zeros((int(np.prod(dims, dtype=np.int64)) + 1) // 2, np.uint8)
        numpy_type = next(numpy_type for code, numpy_type in DATA_TYPES.values() if code == number)
        return np.zeros(dims, numpy_type)
