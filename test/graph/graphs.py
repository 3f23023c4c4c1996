"""What the tests build: a node of every operator, an LSTM, and sessions of onnxruntime."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
from onnx import TensorProto

from builder import Graph

FLOAT, UINT8, INT8, INT32 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32
SCALE, ZERO = np.float32(0.05), np.uint8(7)


def session(model: bytes | str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def lstm_inputs(graph: Graph, directions: int = 1, optional: bool = False, seed: int = 1) -> dict[str, int]:
    """An LSTM of 4 inputs and 3 cells with constant weights, and X as an input."""
    rng = np.random.default_rng(seed)
    arrays = {"W": rng.integers(-127, 128, (directions, 4, 12), np.int8),
              "R": rng.integers(-127, 128, (directions, 3, 12), np.int8),
              "W_scale": np.full((directions,), 0.01, np.float32), "W_zero_point": np.zeros((directions,), np.int8),
              "R_scale": np.full((directions,), 0.02, np.float32), "R_zero_point": np.zeros((directions,), np.int8)}
    if optional:
        arrays |= {"B": rng.standard_normal((directions, 24)).astype(np.float32),
                   "P": rng.standard_normal((directions, 9)).astype(np.float32)}
    values = {name: graph.constant(array, name) for name, array in arrays.items()}
    values["X"] = graph.input("X", FLOAT, ["sequence", "batch", 4])
    if optional:
        values["sequence_lens"] = graph.input("sequence_lens", INT32, ["batch"])
        values["initial_h"] = graph.input("initial_h", FLOAT, [directions, "batch", 3])
        values["initial_c"] = graph.input("initial_c", FLOAT, [directions, "batch", 3])
    return values


def feeds(directions: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    return {"X": rng.standard_normal((5, 2, 4)).astype(np.float32), "sequence_lens": np.array([5, 3], np.int32),
            "initial_h": rng.standard_normal((directions, 2, 3)).astype(np.float32),
            "initial_c": rng.standard_normal((directions, 2, 3)).astype(np.float32)}


def ports(graph: Graph, names: dict[str, object]) -> dict[str, int]:
    """Constants of arrays; values as they are."""
    return {name: value if isinstance(value, int) else graph.constant(value) for name, value in names.items()}


def binary(op: str):
    def make(graph: Graph) -> list[int]:
        a, b = (graph.input(name, UINT8, ["N", 4]) for name in "ab")
        return graph.node(op, ports(graph, {"A": a, "A_scale": SCALE, "A_zero_point": ZERO, "B": b, "B_scale": SCALE,
                                            "B_zero_point": ZERO, "C_scale": SCALE, "C_zero_point": ZERO}))
    return make


def unary(op: str):
    def make(graph: Graph) -> list[int]:
        x = graph.input("x", UINT8, ["N", 4])
        return graph.node(op, ports(graph, {"X": x, "X_scale": SCALE, "X_zero_point": ZERO, "Y_scale": SCALE,
                                            "Y_zero_point": ZERO}))
    return make


def quantize(domain: str):
    def make(graph: Graph) -> list[int]:
        x = graph.input("x", FLOAT, ["N", 4])
        return graph.node("QuantizeLinear", ports(graph, {"x": x, "y_scale": SCALE, "y_zero_point": ZERO}), domain)
    return make


def dequantize(domain: str):
    def make(graph: Graph) -> list[int]:
        x = graph.input("x", UINT8, ["N", 4])
        return graph.node("DequantizeLinear", ports(graph, {"x": x, "x_scale": SCALE, "x_zero_point": ZERO}), domain)
    return make


def matmul_integer(graph: Graph) -> list[int]:
    return graph.node("MatMulInteger", ports(graph, {"A": graph.input("a", UINT8, ["M", 4]),
                                                     "B": np.ones((4, 3), np.int8), "a_zero_point": ZERO}), "")


def qlinear_matmul(graph: Graph) -> list[int]:
    return graph.node("QLinearMatMul", ports(graph, {
        "a": graph.input("a", UINT8, ["M", 4]), "a_scale": SCALE, "a_zero_point": ZERO, "b": np.ones((4, 3), np.int8),
        "b_scale": SCALE, "b_zero_point": np.int8(0), "y_scale": SCALE, "y_zero_point": ZERO}), "")


def matmul_integer_to_float(graph: Graph) -> list[int]:
    return graph.node("MatMulIntegerToFloat", ports(graph, {
        "A": graph.input("a", UINT8, ["M", 4]), "B": np.ones((4, 3), np.int8), "a_scale": SCALE, "b_scale": SCALE}))


def dynamic_quantize_matmul(graph: Graph) -> list[int]:
    return graph.node("DynamicQuantizeMatMul", ports(graph, {
        "A": graph.input("a", FLOAT, ["M", 4]), "B": np.ones((4, 3), np.int8), "b_scale": SCALE}))


def qgemm(graph: Graph) -> list[int]:
    return graph.node("QGemm", ports(graph, {
        "A": graph.input("a", UINT8, ["M", 4]), "a_scale": SCALE, "a_zero_point": ZERO, "B": np.ones((3, 4), np.int8),
        "b_scale": SCALE, "b_zero_point": np.int8(0)}), transB=1, alpha=2.0)


def mul_integer(graph: Graph) -> list[int]:
    a, b = (graph.input(name, UINT8, ["N", 4]) for name in "ab")
    return graph.node("MulInteger", ports(graph, {"A": a, "A_zero_point": ZERO, "B": b, "B_zero_point": ZERO}))


def reduce_sum_integer(graph: Graph) -> list[int]:
    return graph.node("ReduceSumInteger", {"data": graph.input("x", UINT8, ["N", 4])}, axes=[1], keepdims=0)


def qlinear_reduce_mean(graph: Graph) -> list[int]:
    return graph.node("QLinearReduceMean", ports(graph, {
        "data": graph.input("x", UINT8, ["N", 4]), "data_scale": SCALE, "data_zero_point": ZERO,
        "reduced_scale": SCALE, "reduced_zero_point": ZERO}), axes=[1], keepdims=1)


def qlinear_concat(graph: Graph) -> list[int]:
    x, scale, zero = graph.input("x", UINT8, ["N", 4]), graph.constant(SCALE), graph.constant(ZERO)
    return graph.node("QLinearConcat", {"Y_scale": scale, "Y_zero_point": zero,
                                        "inputs": [x, scale, zero, x, scale, zero]}, axis=1)


def dynamic_quantize_linear(graph: Graph) -> list[int]:
    return graph.node("DynamicQuantizeLinear", {"x": graph.input("x", FLOAT, ["N", 4])}, "ai.onnx")


def dynamic_quantize_lstm(graph: Graph) -> list[int]:
    return graph.lstm(lstm_inputs(graph))


GRAPHS = {
    "ai.onnx.DequantizeLinear": dequantize(""),
    "ai.onnx.DynamicQuantizeLinear": dynamic_quantize_linear,
    "ai.onnx.MatMulInteger": matmul_integer,
    "ai.onnx.QLinearMatMul": qlinear_matmul,
    "ai.onnx.QuantizeLinear": quantize(""),
    "com.microsoft.DequantizeLinear": dequantize("com.microsoft"),
    "com.microsoft.DynamicQuantizeLSTM": dynamic_quantize_lstm,
    "com.microsoft.DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "com.microsoft.MatMulIntegerToFloat": matmul_integer_to_float,
    "com.microsoft.MulInteger": mul_integer,
    "com.microsoft.QGemm": qgemm,
    "com.microsoft.QLinearAdd": binary("QLinearAdd"),
    "com.microsoft.QLinearConcat": qlinear_concat,
    "com.microsoft.QLinearLeakyRelu": unary("QLinearLeakyRelu"),
    "com.microsoft.QLinearMul": binary("QLinearMul"),
    "com.microsoft.QLinearReduceMean": qlinear_reduce_mean,
    "com.microsoft.QLinearSigmoid": unary("QLinearSigmoid"),
    "com.microsoft.QuantizeLinear": quantize("com.microsoft"),
    "com.microsoft.ReduceSumInteger": reduce_sum_integer,
}
