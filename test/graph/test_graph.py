"""Models built through flat C, in unmodified onnx and onnxruntime."""

from __future__ import annotations

import ctypes
import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from builder import LSTM_INPUTS, Graph, GraphError, Library

FLOAT, UINT8, INT8, INT32 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32
NUMBERS = (ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_float)
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
# Schema and shape rules exist in onnxruntime, but no kernel.
WITHOUT_KERNEL_IN_ONNXRUNTIME = {"com.microsoft.MulInteger", "com.microsoft.QLinearReduceMean",
                                 "com.microsoft.ReduceSumInteger"}


def test_the_graphs_here_are_of_all_operators(build: Path) -> None:
    done = subprocess.run([build / "octet", "ops", "--json"], capture_output=True, text=True, check=True)
    assert set(GRAPHS) == {f"{op['domain'] or 'ai.onnx'}.{op['name']}" for op in json.loads(done.stdout)}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_operator_loads_in_onnxruntime(name: str, library: Library) -> None:
    graph = library.create()
    for i, value in enumerate(GRAPHS[name](graph)):
        graph.output(value, f"out{i}")
    graph.verify()
    serialized = graph.serialize()
    model = onnx.load_from_string(serialized)
    onnx.checker.check_model(model)
    assert model.ir_version == 10
    try:
        outputs = session(serialized).get_outputs()
    except Exception as error:  # onnxruntime has an exception class for each code
        assert name in WITHOUT_KERNEL_IN_ONNXRUNTIME, error
        assert "NOT_IMPLEMENTED" in str(error)
        return
    assert name not in WITHOUT_KERNEL_IN_ONNXRUNTIME
    for output in outputs:  # both infer the same
        dtype, dims = graph.type_of(graph.value(output.name))
        assert output.type == f"tensor({TensorProto.DataType.Name(dtype).lower()})"
        assert [None if isinstance(d, str) else d for d in output.shape] == [
            None if isinstance(d, str) else d for d in dims or []]


@pytest.mark.parametrize("opset", range(10, 29))
def test_the_ir_version_is_that_of_the_opset(opset: int, library: Library) -> None:
    graph = library.create(opset)
    graph.output(matmul_integer(graph)[0])
    model = onnx.load_from_string(graph.serialize())
    assert model.ir_version == helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    onnx.checker.check_model(model)


def feeds(directions: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    return {"X": rng.standard_normal((5, 2, 4)).astype(np.float32), "sequence_lens": np.array([5, 3], np.int32),
            "initial_h": rng.standard_normal((directions, 2, 3)).astype(np.float32),
            "initial_c": rng.standard_normal((directions, 2, 3)).astype(np.float32)}


def test_the_lstm_node_computes_what_one_made_by_hand_does(library: Library) -> None:
    parameters = dict(activations=["Tanh", "HardSigmoid", "Relu"] * 2, activation_alpha=[0.3] * 2,
                      activation_beta=[0.4] * 2, clip=3.0, direction="bidirectional", input_forget=True)
    graph = library.create()
    values = lstm_inputs(graph, 2, optional=True)
    for value, name in zip(graph.lstm(values, "layer", training=False, lda_coeff=0.25, **parameters),
                           ("Y", "Y_h", "Y_c")):
        graph.output(value, name)
    graph.verify()
    built = onnx.load_from_string(graph.serialize())
    (node,) = built.graph.node
    assert {entry.key: entry.value for entry in node.metadata_props} == {"octet.training": "0",
                                                                          "octet.lda_coeff": "0.25"}
    assert node.domain == "com.microsoft"
    by_hand = helper.make_node("DynamicQuantizeLSTM", list(LSTM_INPUTS), ["Y", "Y_h", "Y_c"], domain="com.microsoft",
                               hidden_size=3, **(parameters | {"input_forget": 1}))
    expected = onnx.ModelProto.FromString(built.SerializeToString())
    expected.graph.node[0].CopyFrom(by_hand)
    results = [session(model.SerializeToString()).run(None, feeds(2)) for model in (built, expected)]
    for found, wanted in zip(*results):
        np.testing.assert_array_equal(found, wanted)


def test_the_lstm_node_has_the_defaults_of_the_toolkit(library: Library) -> None:
    graph = library.create()
    y, y_h, y_c = graph.lstm(lstm_inputs(graph))
    graph.output(y_h)
    graph.verify()
    (node,) = onnx.load_from_string(graph.serialize()).graph.node
    assert {a.name: helper.get_attribute_value(a) for a in node.attribute} == {
        "direction": b"forward", "hidden_size": 3, "input_forget": 0}
    assert {entry.key: entry.value for entry in node.metadata_props} == {"octet.training": "1",
                                                                          "octet.lda_coeff": "1"}
    assert list(node.output) == ["", "DynamicQuantizeLSTM/Y_h"]
    assert session(graph.serialize()).run(None, {"X": feeds()["X"]})[0].shape == (1, 2, 3)
    assert graph.type_of(y) == (FLOAT, ["sequence", 1, "batch", 3])
    assert graph.type_of(y_c) == (FLOAT, [1, "batch", 3])


@pytest.mark.parametrize("dtype", [INT8, UINT8])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("per_channel", [True, False])
def test_quantized_weights_follow_the_float_lstm(dtype: int, symmetric: bool, per_channel: bool,
                                                 library: Library) -> None:
    rng = np.random.default_rng(3)
    weights = {"W": (rng.standard_normal((1, 12, 4)) * 0.3).astype(np.float32),
               "R": (rng.standard_normal((1, 12, 3)) * 0.3).astype(np.float32)}
    x = rng.standard_normal((6, 2, 4)).astype(np.float32)
    graph = library.create()
    values = {"X": graph.input("X", FLOAT, [6, 2, 4])}
    for name, weight in weights.items():
        data, scale, zero_point, largest, rms = library.quantize_lstm_weight(weight, dtype, symmetric, per_channel)
        restored = (data.astype(np.float64) - zero_point.reshape(1, 1, -1)) * scale.reshape(1, 1, -1)
        difference = restored.transpose(0, 2, 1) - weight
        assert largest == pytest.approx(np.abs(difference).max(), rel=1e-4)
        assert rms == pytest.approx(np.sqrt((difference**2).mean()), rel=1e-4)
        assert largest <= scale.max() * (0.51 if symmetric else 1.01)
        values |= {name: graph.constant(data), f"{name}_scale": graph.constant(scale),
                   f"{name}_zero_point": graph.constant(zero_point)}
    graph.output(graph.lstm(values)[0], "Y")
    node = helper.make_node("LSTM", ["X", "W", "R"], ["Y"], hidden_size=3)
    initializers = [onnx.numpy_helper.from_array(weight, name) for name, weight in weights.items()]
    reference = helper.make_model(
        helper.make_graph([node], "float", [helper.make_tensor_value_info("X", FLOAT, x.shape)],
                          [helper.make_tensor_value_info("Y", FLOAT, None)], initializers),
        opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    if per_channel and not symmetric:
        with pytest.raises(Exception, match="zero point must be zero|point must be constant"):
            # onnxruntime's own kernel wants equal zero points, Octet's does not
            session(graph.serialize()).run(["Y"], {"X": x})
        return
    (found,), (expected,) = (session(m).run(["Y"], {"X": x}) for m in (graph.serialize(),
                                                                       reference.SerializeToString()))
    # Gates of the wrong order or place would be off by tenths.
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_external_data_in_onnxruntime(tmp_path: Path, library: Library) -> None:
    graph = library.create()
    weight = np.random.default_rng(4).integers(-128, 128, (64, 256), np.int8)
    product = graph.node("MatMulInteger", {"A": graph.input("a", UINT8, ["M", 64]), "B": graph.constant(weight, "w")},
                         "")
    graph.output(product[0], "y")
    graph.save(tmp_path / "m.onnx", threshold=1000)
    assert (tmp_path / "m.onnx.data").stat().st_size == weight.nbytes
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    a = np.arange(128, dtype=np.uint8).reshape(2, 64)
    (y,) = session(str(tmp_path / "m.onnx")).run(None, {"a": a})
    np.testing.assert_array_equal(y, a.astype(np.int32) @ weight.astype(np.int32))

    again = library.from_file(tmp_path / "m.onnx")
    assert [again.name(value) for value in again.values("inputs")] == ["a"]
    second = again.node("MatMulInteger", {"A": again.value("a"), "B": again.value("w")}, "")
    again.output(second[0], "z")
    again.remove_output(again.value("y"))
    (tmp_path / "other").mkdir()
    again.save(tmp_path / "other/n.onnx")
    (z,) = session(str(tmp_path / "other/n.onnx")).run(None, {"a": a})
    np.testing.assert_array_equal(z, y)


def test_models_of_more_than_two_gigabytes_in_onnxruntime(tmp_path: Path, library: Library) -> None:
    """The weight lies behind 3 GB of a sparse file; a constant of 2.2 GB is referred to, and never read."""
    graph = library.create()
    weight = np.random.default_rng(5).integers(-128, 128, (64, 256), np.int8)
    graph.output(graph.node("MatMulInteger", {"A": graph.input("a", UINT8, ["M", 64]),
                                              "B": graph.constant(weight, "w")}, "")[0], "y")
    model = onnx.load_from_string(graph.serialize())
    offset, large = 3 << 30, 2_200_000_000
    with (tmp_path / "weights.bin").open("wb") as file:
        file.seek(offset)
        file.write(weight.tobytes())
    place_externally(model.graph.initializer[0], "weights.bin", offset, weight.nbytes)
    model.graph.initializer.append(TensorProto(name="large", data_type=UINT8, dims=[large]))
    place_externally(model.graph.initializer[1], "weights.bin", 0, large)
    again = library.from_model(model.SerializeToString(), tmp_path)
    assert again.type_of(again.value("large")) == (UINT8, [large])
    product = again.node("MatMulInteger", {"A": again.value("a"), "B": again.value("w")}, "")
    again.output(product[0], "z")
    again.verify()
    again.save(tmp_path / "m.onnx")
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    a = np.arange(128, dtype=np.uint8).reshape(2, 64)
    for result in session(str(tmp_path / "m.onnx")).run(["y", "z"], {"a": a}):
        np.testing.assert_array_equal(result, a.astype(np.int32) @ weight.astype(np.int32))


def place_externally(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)


def test_a_model_too_large_for_bytes_can_be_saved_only(tmp_path: Path, library: Library) -> None:
    """Two constants of 1.1 GB. Zeros take no memory before they are copied."""
    if ort.__version__.startswith("1.24."):
        pytest.skip("asks nothing of onnxruntime: once is enough")
    graph = library.create()
    zeros = np.zeros(1_100_000_000, np.uint8)
    for name in "ab":
        graph.output(graph.constant(zeros, name), f"{name}_output")
    del zeros
    with pytest.raises(GraphError, match="save"):
        graph.serialize()
    graph.save(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx.data").stat().st_size > 2_200_000_000
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    (tmp_path / "m.onnx.data").unlink()


def test_models_run_beside_onnxruntime(library: Library) -> None:
    """The LSTM of the builder: Octet's numbers by rows, and onnxruntime's by tensors, on one thread."""
    graph = library.create()
    for value, name in zip(graph.lstm(lstm_inputs(graph)), ("Y", "Y_h", "Y_c")):
        graph.output(value, name)
    x = feeds()["X"]
    expected = session(graph.serialize()).run(None, {"X": x})
    found = library.run(graph.serialize(), [x], "lstm_quantization=per_tensor,threads=1")
    assert list(found) == ["Y", "Y_h", "Y_c"]
    for name, wanted in zip(found, expected):
        np.testing.assert_allclose(found[name], wanted, atol=1e-6)
    by_row = library.run(graph.serialize(), [x])
    assert not np.array_equal(by_row["Y"], found["Y"])
    np.testing.assert_allclose(by_row["Y"], found["Y"], atol=0.02)


def test_errors_of_models_that_run(library: Library) -> None:
    graph = library.create()
    graph.output(matmul_integer(graph)[0])
    model = graph.serialize()
    a = np.zeros((2, 4), np.uint8)
    for arguments, message in (
            (([a], "threads=0"), "option 'threads' is '0'"), (([a], "speed=1"), "option 'speed' is not known"),
            (([a.astype(np.int8)],), "input 'a' has type int8, expected uint8"),
            (([a[:, :3].copy()],), r"input 'a' has shape \[2,3\], expected \[M,4\]"), (([],), "input 'a' is missing"),
            (([a, a],), "there is no input 1")):
        with pytest.raises(GraphError, match=message):
            library.run(model, *arguments)
    relu = helper.make_model(helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", FLOAT, [1])],
        [helper.make_tensor_value_info("y", FLOAT, [1])]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(GraphError, match="1 nodes that Octet does not run: Relu"):
        library.run(relu.SerializeToString(), [a])


def test_errors(library: Library, tmp_path: Path) -> None:
    graph, other = library.create(), library.create()
    x = graph.input("x", UINT8, ["N", 4])
    with pytest.raises(GraphError, match="MatMulInteger 'p': input 'A' is a value of another graph") as caught:
        other.node("MatMulInteger", {"A": x}, "", "p")
    assert caught.value.code == 1
    with pytest.raises(GraphError, match="no such operator"):
        graph.node("Conv", {}, "")
    with pytest.raises(GraphError, match="the graph has a value 'x' already"):
        graph.input("x", UINT8, [])
    with pytest.raises(GraphError, match="no serialized ModelProto"):
        library.from_model(b"junk")
    with pytest.raises(GraphError, match="cannot be read"):
        library.from_file(tmp_path / "none.onnx")
    with pytest.raises(GraphError, match="opset 99 of ai.onnx is not known"):
        library.create(99)
    with pytest.raises(GraphError, match="no value 'none'"):
        graph.value("none")
    assert library.lib.octet_graph_builder_find_value(graph.builder, b"x", None) == 1
    assert "'value' is null" in library.last_error()


def test_null_is_refused_by_every_function(library: Library) -> None:
    called = 0
    for name, (result, parameters) in library.functions.items():
        if not parameters or name.endswith(("release", "builder_create", "quantize_lstm_weight")):
            continue
        arguments = [parameter(0) if parameter in NUMBERS else None for parameter in parameters]
        assert getattr(library.lib, name)(*arguments) == (None if result is ctypes.c_void_p else 1), name
        assert "is null" in library.last_error(), name
        called += 1
    assert called > 20
    for release in ("octet_graph_builder_release", "octet_graph_node_release"):
        getattr(library.lib, release)(None)
