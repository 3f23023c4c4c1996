"""octet_dqip_* from Python's ctypes: every type and activation against plain Python, with the standard library only.

The declarations and the mathematics are written down from the specification of the interface, not from octet.h.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import random
import struct
import unittest
from collections.abc import Callable, Sequence
from ctypes import c_char_p, c_int32, c_int64, c_uint64, c_void_p

FLOAT, INT8, BFLOAT16 = 1, 3, 16
M, N, K = 3, 5, 17
WEIGHTS = ((FLOAT, 1), (INT8, 1), (FLOAT, 0), (BFLOAT16, 0))


def load() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ["OCTET_LIBRARY"])
    signatures = {
        "init": (c_void_p, [c_uint64] * 3 + [c_int32] * 7),
        "internal_buffer_size": (c_uint64, [c_void_p]),
        "external_buffer_size": (c_uint64, [c_void_p]),
        "info": (c_char_p, [c_void_p]),
        "set_params": (c_void_p, [c_void_p] * 5),
        "forward": (c_void_p, [c_void_p] * 5),
        "forward_rows": (c_void_p, [c_void_p, c_uint64] + [c_void_p] * 4),
        "set_option": (c_void_p, [c_void_p, c_char_p, c_int64]),
        "release": (None, [c_void_p]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"octet_dqip_{name}")
        function.restype, function.argtypes = result, arguments
    library.octet_last_error.restype = c_char_p
    return library


LIBRARY = load()

# Parameters and function by the number of the activation; j is the column.
Activation = tuple[list[float], Callable[[float, int, Sequence[float]], float]]
ACTIVATIONS: list[Activation] = [
    ([], lambda x, j, p: x),
    ([], lambda x, j, p: max(x, 0)),
    ([0.25], lambda x, j, p: x if x >= 0 else p[0] * x),
    ([-0.5, 0.75], lambda x, j, p: min(max(x, p[0]), p[1])),
    ([0.5, -0.25, 0.125, 2, 1], lambda x, j, p: x if x >= 0 else p[j] * x),
    ([0.5], lambda x, j, p: x if x >= 0 else p[0] * (math.exp(x) - 1)),
    ([3.0, 0.25], lambda x, j, p: max(min(x, p[0]) + p[0], 0) * p[1] * x),
    ([2.0], lambda x, j, p: x if x > p[0] else x * (1 - 2 / ((math.exp(x) + 1) ** 2 + 1))),
    ([0.25, 0.5], lambda x, j, p: max(0, min(x * p[0] + p[1], 1))),
    ([1.5], lambda x, j, p: x / (1 + math.exp(-p[0] * x))),
    ([], lambda x, j, p: x * (1 + math.erf(x / math.sqrt(2))) / 2),
]


def pack(values: Sequence[float], element: int) -> ctypes.Array[ctypes.c_char]:
    if element == INT8:
        data = struct.pack(f"{len(values)}b", *map(int, values))
    else:
        data = struct.pack(f"<{len(values)}f", *values)
    if element == BFLOAT16:  # the values are exact in it
        data = b"".join(data[i + 2 : i + 4] for i in range(0, len(data), 4))
    return ctypes.create_string_buffer(data, max(1, len(data)))


def unpack(data: bytes, element: int) -> list[float]:
    if element == BFLOAT16:
        data = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def quantized_row(row: Sequence[float]) -> list[float]:
    """What is left of a row of A in 8 bits, as real numbers."""
    low, high = min(*row, 0.0), max(*row, 0.0)
    scale = (high - low) / 255
    zero = round(-low / scale)
    return [(min(max(round(x / scale) + zero, 0), 255) - zero) * scale for x in row]


def quantized_column(column: Sequence[float], levels: int) -> list[float]:
    scale = max(map(abs, column)) / levels
    return [round(x / scale) * scale for x in column]


class Case:
    """Numbers that bfloat16 holds too."""

    def __init__(self, weight: int) -> None:
        source = random.Random(7)
        self.a = [[source.randint(-64, 64) / 32 for _ in range(K)] for _ in range(M)]
        limit = 128 if weight == INT8 else 64
        self.b = [[float(source.randint(-limit, limit - 1)) for _ in range(N)] for _ in range(K)]
        self.scale = [2.0 ** -(7 + j) for j in range(N)]
        if weight != INT8:
            self.b = [[x / 64 for x in row] for row in self.b]
        self.bias = [0.5, -1.0, 0.0, 2.0, -0.125]

    def values(self, weight: int, bias: int, narrow: int) -> list[list[float]]:
        """Before the activation."""
        columns = [list(column) for column in zip(*self.b, strict=True)]
        if weight == INT8:
            columns = [[x * s for x in c] for c, s in zip(columns, self.scale, strict=True)]
        else:
            columns = [quantized_column(c, 63 if narrow else 127) for c in columns]
        rows = map(quantized_row, self.a)
        return [
            [sum(x * y for x, y in zip(row, c, strict=True)) + bias * self.bias[j] for j, c in enumerate(columns)]
            for row in rows
        ]


def flat(rows: Sequence[Sequence[float]]) -> list[float]:
    return list(itertools.chain.from_iterable(rows))


class InnerProductTest(unittest.TestCase):
    def check(self, status: int | None) -> None:
        self.assertIsNone(status, LIBRARY.octet_last_error())

    def run_case(self, types: tuple[int, int, int], const_b: int, bias: int, activation: int, narrow: int) -> None:
        type_a, type_b, type_c = types
        case, (parameters, function) = Case(type_b), ACTIVATIONS[activation]
        product = LIBRARY.octet_dqip_init(M, N, K, *types, const_b, bias, activation, narrow)
        self.assertTrue(product, LIBRARY.octet_last_error())
        self.addCleanup(LIBRARY.octet_dqip_release, product)
        b = pack(flat(case.b), type_b)
        scale = pack(case.scale, FLOAT) if type_b == INT8 else None
        params = pack(parameters, FLOAT) if parameters else None
        weight = b if const_b else None
        self.check(LIBRARY.octet_dqip_set_params(product, weight, scale, pack(case.bias, FLOAT), params))
        c = ctypes.create_string_buffer(M * N * (4 if type_c == FLOAT else 2))
        buffer = ctypes.create_string_buffer(LIBRARY.octet_dqip_external_buffer_size(product))
        a = pack(flat(case.a), type_a)
        self.check(LIBRARY.octet_dqip_forward(product, a, None if const_b else b, buffer, c))
        found = unpack(c.raw, type_c)
        values = case.values(type_b, bias, narrow)
        expected = [function(x, j, parameters) for row in values for j, x in enumerate(row)]
        for x, y in zip(found, expected, strict=True):
            self.assertLessEqual(abs(x - y), 1e-4 + abs(y) * (2.0**-8 if type_c == BFLOAT16 else 1e-5))
        one_row = ctypes.create_string_buffer(c.raw, len(c.raw))
        self.check(LIBRARY.octet_dqip_forward_rows(product, 1, a, None if const_b else b, None, one_row))
        self.assertEqual(one_row.raw, c.raw)

    def test_every_combination(self) -> None:
        flags = itertools.product((FLOAT, BFLOAT16), WEIGHTS, (FLOAT, BFLOAT16), (0, 1), range(11), (0, 1))
        for type_a, (type_b, const_b), type_c, bias, activation, narrow in flags:
            types = (type_a, type_b, type_c)
            with self.subTest(types=types, const_b=const_b, bias=bias, activation=activation, narrow=narrow):
                self.run_case(types, const_b, bias, activation, narrow)

    def test_refuses(self) -> None:
        for types, const_b, activation in (
            ((INT8, FLOAT, FLOAT), 1, 0),
            ((FLOAT, BFLOAT16, FLOAT), 1, 0),
            ((FLOAT, INT8, FLOAT), 0, 0),
            ((FLOAT, FLOAT, 7), 1, 0),
            ((FLOAT, FLOAT, FLOAT), 1, 11),
        ):
            with self.subTest(types=types, const_b=const_b, activation=activation):
                self.assertFalse(LIBRARY.octet_dqip_init(M, N, K, *types, const_b, 0, activation, 0))
                self.assertTrue(LIBRARY.octet_last_error())
        product = LIBRARY.octet_dqip_init(M, N, K, FLOAT, FLOAT, FLOAT, 1, 0, 0, 0)
        self.addCleanup(LIBRARY.octet_dqip_release, product)
        self.check(LIBRARY.octet_dqip_set_option(product, b"trans_b", 1))
        self.check(LIBRARY.octet_dqip_set_option(product, b"threads", 2))
        x = pack([0.0] * M * K, FLOAT)
        self.assertTrue(LIBRARY.octet_dqip_forward(product, x, None, None, x))  # no weights yet
        self.assertTrue(LIBRARY.octet_dqip_set_option(product, b"other", 1))
        self.assertTrue(LIBRARY.octet_dqip_info(product))
        LIBRARY.octet_dqip_release(None)


if __name__ == "__main__":
    unittest.main()
