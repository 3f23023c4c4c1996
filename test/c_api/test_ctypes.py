"""The flat C interface from Python's ctypes, with the standard library only."""

from __future__ import annotations

import ctypes
import json
import os
import random
import unittest
from ctypes import POINTER, byref, c_char_p, c_float, c_int32, c_int64, c_uint64, c_void_p
from typing import Any

FLOAT, UINT8, INT8, INT32 = 1, 2, 3, 6
OK, INVALID_ARGUMENT, NOT_IMPLEMENTED = 0, 1, 2

Status = Node = Operator = Call = c_void_p
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "octet_abi_version": (c_int32, []),
    "octet_version": (c_char_p, []),
    "octet_op_count": (c_uint64, []),
    "octet_ops_json": (Status, [c_char_p, POINTER(c_uint64)]),
    "octet_infer_json": (Status, [c_char_p, c_char_p, POINTER(c_uint64)]),
    "octet_last_error": (c_char_p, []),
    "octet_last_error_code": (c_int32, []),
    "octet_status_code": (c_int32, [Status]),
    "octet_status_text": (c_char_p, [Status]),
    "octet_status_release": (None, [Status]),
    "octet_node_create": (Node, [c_char_p, c_char_p, c_int64, c_char_p]),
    "octet_node_release": (None, [Node]),
    "octet_node_set_int": (Status, [Node, c_char_p, c_int64]),
    "octet_node_set_float": (Status, [Node, c_char_p, c_float]),
    "octet_node_set_strings": (Status, [Node, c_char_p, POINTER(c_char_p), c_uint64]),
    "octet_node_set_input": (Status, [Node, c_uint64, c_int32, POINTER(c_int64), c_int32]),
    "octet_node_set_constant": (
        Status,
        [Node, c_uint64, c_int32, POINTER(c_int64), c_int32, c_char_p, c_uint64],
    ),
    "octet_node_set_option": (Status, [Node, c_char_p, c_char_p]),
    "octet_operator_create": (Operator, [Node]),
    "octet_operator_release": (None, [Operator]),
    "octet_call_create": (Call, [Operator]),
    "octet_call_release": (None, [Call]),
    "octet_call_copy_input": (
        Status,
        [Call, c_uint64, c_int32, POINTER(c_int64), c_int32, c_char_p, c_uint64],
    ),
    "octet_call_infer": (Status, [Call]),
    "octet_call_output_info": (
        Status,
        [Call, c_uint64, POINTER(c_int32), POINTER(c_int32), POINTER(c_uint64)],
    ),
    "octet_call_output_dims": (Status, [Call, c_uint64, POINTER(c_int64), c_uint64]),
    "octet_call_explain": (Status, [Call, c_char_p, POINTER(c_uint64)]),
    "octet_call_run": (Status, [Call]),
    "octet_dqip_init": (c_void_p, [c_uint64] * 3 + [c_int32] * 7),
    "octet_dqip_internal_buffer_size": (c_uint64, [c_void_p]),
    "octet_dqip_external_buffer_size": (c_uint64, [c_void_p]),
    "octet_dqip_info": (c_char_p, [c_void_p]),
    "octet_dqip_set_option": (Status, [c_void_p, c_char_p, c_int64]),
    "octet_dqip_set_params": (Status, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "octet_dqip_forward": (Status, [c_void_p] * 5),
    "octet_dqip_forward_rows": (Status, [c_void_p, c_uint64] + [c_void_p] * 4),
    "octet_dqip_release": (None, [c_void_p]),
    "octet_call_copy_output": (Status, [Call, c_uint64, c_void_p, c_uint64]),
}


class OctetError(RuntimeError):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def load() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ["OCTET_LIBRARY"])
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


LIBRARY = load()


def check(status: int | None) -> None:
    """Raises what a status says, and releases it."""
    if status is None:
        return
    try:
        raise OctetError(LIBRARY.octet_status_code(status), LIBRARY.octet_status_text(status).decode())
    finally:
        LIBRARY.octet_status_release(status)


def handle(pointer: int | None) -> int:
    if pointer is None:
        raise OctetError(LIBRARY.octet_last_error_code(), LIBRARY.octet_last_error().decode())
    return pointer


def extents(*dims: int) -> ctypes.Array[c_int64]:
    return (c_int64 * len(dims))(*dims)


def text_of(function: Any, *arguments: Any) -> str:
    size = c_uint64()
    check(function(*arguments, None, byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    check(function(*arguments, buffer, byref(size)))
    return buffer.value.decode()


class QGemmTest(unittest.TestCase):
    """QGemm 'fc1' with float output: Y = alpha * a_scale * b_scale * (A B' + C)."""

    m, k, n = 3, 5, 4

    def setUp(self) -> None:
        generator = random.Random(11)
        self.a = bytes(generator.randrange(256) for _ in range(self.m * self.k))
        self.b = bytes(generator.randrange(256) for _ in range(self.n * self.k))
        self.node = handle(LIBRARY.octet_node_create(b"com.microsoft", b"QGemm", 1, b"fc1"))
        self.addCleanup(LIBRARY.octet_node_release, self.node)
        check(LIBRARY.octet_node_set_int(self.node, b"transB", 1))
        check(LIBRARY.octet_node_set_float(self.node, b"alpha", 2.0))
        check(LIBRARY.octet_node_set_input(self.node, 0, UINT8, extents(-1, self.k), 2))
        self.constant(1, FLOAT, [], bytes(c_float(0.5)))
        self.constant(2, UINT8, [], bytes([100]))
        self.constant(3, INT8, [self.n, self.k], self.b)
        self.constant(4, FLOAT, [], bytes(c_float(0.25)))
        self.constant(5, INT8, [], bytes([3]))

    def constant(self, index: int, dtype: int, dims: list[int], data: bytes) -> None:
        check(
            LIBRARY.octet_node_set_constant(
                self.node, index, dtype, extents(*dims), len(dims), data, len(data)
            )
        )

    def call(self) -> int:
        operator = handle(LIBRARY.octet_operator_create(self.node))
        call = handle(LIBRARY.octet_call_create(operator))
        LIBRARY.octet_operator_release(operator)
        self.addCleanup(LIBRARY.octet_call_release, call)
        check(
            LIBRARY.octet_call_copy_input(call, 0, UINT8, extents(self.m, self.k), 2, self.a, len(self.a))
        )
        return call

    def expected(self) -> list[float]:
        signed = [value - 256 if value > 127 else value for value in self.b]
        return [
            2.0 * 0.5 * 0.25
            * sum((self.a[i * self.k + p] - 100) * (signed[j * self.k + p] - 3) for p in range(self.k))
            for i in range(self.m)
            for j in range(self.n)
        ]

    def test_runs(self) -> None:
        call = self.call()
        check(LIBRARY.octet_call_infer(call))
        dtype, rank, size = c_int32(), c_int32(), c_uint64()
        check(LIBRARY.octet_call_output_info(call, 0, byref(dtype), byref(rank), byref(size)))
        dims = (c_int64 * rank.value)()
        check(LIBRARY.octet_call_output_dims(call, 0, dims, rank.value))
        self.assertEqual((dtype.value, list(dims), size.value), (FLOAT, [self.m, self.n], 48))
        check(LIBRARY.octet_call_run(call))
        y = (c_float * (self.m * self.n))()
        check(LIBRARY.octet_call_copy_output(call, 0, y, ctypes.sizeof(y)))
        self.assertEqual(list(y), self.expected())  # small integers times powers of two: exact

    def test_explains(self) -> None:
        check(LIBRARY.octet_node_set_option(self.node, b"backend", b"eigen"))
        decision = json.loads(text_of(LIBRARY.octet_call_explain, self.call()))
        self.assertEqual(decision["backend"], "eigen")
        self.assertTrue(decision["implementation"])
        self.assertIsInstance(decision["reasons"], list)

    def test_tells_what_is_wrong(self) -> None:
        self.constant(5, INT8, [3], bytes(3))
        with self.assertRaises(OctetError) as caught:
            self.call()
        self.assertEqual(caught.exception.code, INVALID_ARGUMENT)
        for part in ("QGemm 'fc1'", "'b_zero_point'", "3", "N=4"):
            self.assertIn(part, str(caught.exception))

    def test_wrong_attribute_type(self) -> None:
        names = (c_char_p * 2)(b"a", b"b")
        check(LIBRARY.octet_node_set_strings(self.node, b"alpha", names, 2))
        with self.assertRaisesRegex(OctetError, "alpha"):
            self.call()


class InnerProductTest(unittest.TestCase):
    """C = leaky_relu(A B + bias) of numbers whose quantization is exact."""

    a = [[255.0, 1.0, 7.0], [-100.0, 155.0, 3.0]]
    b = [[127.0, 3.0], [2.0, -127.0], [-5.0, 9.0]]
    bias = [0.5, -2.0]

    def init(self, **changes: int) -> int:
        numbers = {"type_a": FLOAT, "type_b": FLOAT, "type_c": FLOAT, "const_b": 1, "bias": 1, "activation": 2}
        product = handle(LIBRARY.octet_dqip_init(2, 2, 3, *{**numbers, **changes}.values(), 0))
        self.addCleanup(LIBRARY.octet_dqip_release, product)
        return product

    @staticmethod
    def floats(rows: list[list[float]]) -> ctypes.Array[c_float]:
        values = [value for row in rows for value in row]
        return (c_float * len(values))(*values)

    def expected(self) -> list[float]:
        sums = [
            sum(row[k] * self.b[k][j] for k in range(3)) + self.bias[j] for row in self.a for j in range(2)
        ]
        return [value if value >= 0 else 0.25 * value for value in sums]

    def test_runs(self) -> None:
        product = self.init()
        slope = c_float(0.25)
        check(LIBRARY.octet_dqip_set_option(product, b"threads", 2))
        check(
            LIBRARY.octet_dqip_set_params(
                product, self.floats(self.b), None, self.floats([self.bias]), byref(slope)
            )
        )
        self.assertGreater(LIBRARY.octet_dqip_internal_buffer_size(product), 0)
        self.assertTrue(LIBRARY.octet_dqip_info(product))
        buffer = ctypes.create_string_buffer(LIBRARY.octet_dqip_external_buffer_size(product))
        a, c = self.floats(self.a), (c_float * 4)()
        check(LIBRARY.octet_dqip_forward(product, a, None, buffer, c))
        self.assertEqual(list(c), self.expected())
        one_row = (c_float * 4)()
        check(LIBRARY.octet_dqip_forward_rows(product, 1, a, None, None, one_row))
        self.assertEqual(list(one_row), self.expected()[:2] + [0.0, 0.0])

    def test_tells_what_is_wrong(self) -> None:
        with self.assertRaisesRegex(OctetError, "activation is 11"):
            self.init(activation=11)
        product = self.init()
        with self.assertRaisesRegex(OctetError, "no parameters are set"):
            check(LIBRARY.octet_dqip_forward(product, self.floats(self.a), None, None, (c_float * 4)()))


class LibraryTest(unittest.TestCase):
    def test_versions(self) -> None:
        self.assertEqual(LIBRARY.octet_abi_version(), 1)
        self.assertRegex(LIBRARY.octet_version().decode(), r"^\d+\.\d+\.\d+$")

    def test_operator_table(self) -> None:
        ops = json.loads(text_of(LIBRARY.octet_ops_json))
        self.assertEqual(len(ops), LIBRARY.octet_op_count())
        qgemm = next(op for op in ops if (op["domain"], op["name"]) == ("com.microsoft", "QGemm"))
        self.assertEqual(
            [port["name"] for port in qgemm["inputs"][:3]], ["A", "a_scale", "a_zero_point"]
        )
        self.assertEqual(qgemm["inputs"][-1]["option"], "optional")
        alpha = next(a for a in qgemm["attributes"] if a["name"] == "alpha")
        self.assertEqual((alpha["type"], alpha["default"], alpha["required"]), ("FLOAT", 1.0, False))
        for op in ops:
            self.assertTrue(op["kernel"] and set(op["kernel"]) <= {"onednn", "vector", "eigen"})
            for key in ("domain", "name", "since_version", "family", "doc", "inputs", "outputs", "attributes"):
                self.assertIn(key, op)

    @staticmethod
    def infer(node: Any) -> Any:
        text = node if isinstance(node, bytes) else json.dumps(node).encode()
        return json.loads(text_of(LIBRARY.octet_infer_json, text))

    def test_infers_symbols(self) -> None:
        matmul = {"op_type": "MatMulInteger", "opset_version": 17}
        a, b = {"dtype": UINT8, "dims": ["batch", None, 64]}, {"dtype": INT8, "dims": [64, 32]}
        self.assertEqual(self.infer(matmul | {"inputs": [a, b]}), [{"dtype": INT32, "dims": ["batch", None, 32]}])
        self.assertEqual(self.infer(matmul | {"inputs": [{"dtype": UINT8}, b]}), [{"dtype": INT32}])
        qgemm = {"domain": "com.microsoft", "op_type": "QGemm", "opset_version": 1, "attributes": {"alpha": 2, "transB": 1}}
        scalars = [{"dtype": FLOAT, "dims": []}, {"dtype": UINT8, "dims": []}, {"dtype": INT8, "dims": []}]
        inputs = [a | {"dims": ["m", 64]}, scalars[0], scalars[1], b | {"dims": [32, 64]}, scalars[0], scalars[2]]
        self.assertEqual(self.infer(qgemm | {"inputs": inputs}), [{"dtype": FLOAT, "dims": ["m", 32]}])

    def test_inference_tells_what_is_wrong(self) -> None:
        a, b = {"dtype": UINT8, "dims": [2, 3]}, {"dtype": INT8, "dims": [4, 5]}
        node = {"op_type": "MatMulInteger", "opset_version": 10, "name": "product", "inputs": [a, b]}
        for change, text in (
            ({}, "MatMulInteger 'product'.*3.*4"),
            ({"inputs": [a, None]}, "input 'B'"),
            ({"inputs": [a | {"dtype": FLOAT}, b]}, "input 'A'"),
            ({"inputs": [a | {"dims": [-1, 4]}, b]}, "-1"),
            ({"inputs": {"A": a}}, "octet_infer_json|input"),
            ({"attributes": {"other": True}}, "octet_infer_json"),
            ({"attributes": {"other": 1}}, "other"),
            ({"op_type": "Conv"}, "Conv"),
            ({"op_type": 7}, "octet_infer_json"),
        ):
            with self.subTest(change), self.assertRaisesRegex(OctetError, text):
                self.infer(node | change)
        for text in (b"", b"{", b"[]", b"[" * 100000, b'{"op_type": "MatMulInteger"}'):
            with self.subTest(text[:20]), self.assertRaisesRegex(OctetError, "octet_infer_json"):
                self.infer(text)

    def test_null_is_an_error(self) -> None:
        with self.assertRaisesRegex(OctetError, "null"):
            check(LIBRARY.octet_infer_json(None, None, None))
        with self.assertRaisesRegex(OctetError, "null"):
            check(LIBRARY.octet_call_run(None))
        with self.assertRaisesRegex(OctetError, "null"):
            handle(LIBRARY.octet_operator_create(None))


if __name__ == "__main__":
    unittest.main()
