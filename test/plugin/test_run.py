"""`octet run`, which needs no onnxruntime, against the plugin and onnxruntime's own kernels."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from octet_sessions import LIBRARY, cpu_session, octet_session

OCTET = Path(os.environ.get("OCTET_BUILD_DIR", LIBRARY.parent)) / "octet"
FLOAT, INT8, UINT8, INT32, INT64 = (TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32,
                                    TensorProto.INT64)

pytestmark = pytest.mark.skipif(not OCTET.exists(), reason="built without the command line")


def octet_run(folder: Path, model: onnx.ModelProto, feeds: Mapping[str, np.ndarray], *options: str
              ) -> list[np.ndarray]:
    onnx.save(model, folder / "m.onnx")
    inputs = []
    for name, array in feeds.items():
        np.save(folder / f"{name}.npy", array)
        inputs += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run([OCTET, "run", folder / "m.onnx", *inputs, "--output", folder / "out", *options],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return [np.load(folder / "out" / f"{output.name}.npy") for output in model.graph.output]


def model_of(nodes: list[onnx.NodeProto], feeds: Mapping[str, np.ndarray], outputs: list[str],
             constants: Mapping[str, np.ndarray] | None = None, open_extents: bool = True,
             types: Mapping[str, int] | None = None) -> onnx.ModelProto:
    """Outputs that onnx cannot infer have the given types, or float."""
    inputs = [helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype),
        [f"{name}_{d}" for d in range(array.ndim)] if open_extents else array.shape) for name, array in feeds.items()]
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], initializers)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(model)
    for output, known in zip(graph.output, inferred.graph.output):
        dtype = known.type.tensor_type.elem_type or (types or {}).get(output.name, FLOAT)
        output.CopyFrom(helper.make_tensor_value_info(output.name, dtype, None))
        if known.type.tensor_type.HasField("shape"):
            output.type.tensor_type.shape.CopyFrom(known.type.tensor_type.shape)
    model.graph.CopyFrom(graph)
    return model


INT_MAX, INT_MIN = np.iinfo(np.int64).max, np.iinfo(np.int64).min
X = np.random.default_rng(1).integers(-128, 128, (2, 3, 4, 5)).astype(np.int8)

# Name: operator, data, further inputs, attributes.
GLUE: dict[str, tuple[str, np.ndarray, list, dict]] = {
    "reshape": ("Reshape", X, [np.array([6, 20])], {}),
    "reshape_infers": ("Reshape", X, [np.array([0, -1, 2])], {}),
    "reshape_to_scalar": ("Reshape", X[:1, :1, :1, :1], [np.array([], np.int64)], {}),
    "reshape_empty": ("Reshape", X[:0], [np.array([0, 7])], {"allowzero": 1}),
    "transpose": ("Transpose", X, [], {}),
    "transpose_last": ("Transpose", X, [], {"perm": [0, 2, 1, 3]}),
    "transpose_inner": ("Transpose", X.astype(np.float32), [], {"perm": [1, 3, 0, 2]}),
    "transpose_scalar": ("Transpose", X[0, 0, 0, 0], [], {}),
    "transpose_empty": ("Transpose", X[:, :0], [], {"perm": [3, 1, 0, 2]}),
    "squeeze": ("Squeeze", X[:1, :, :1], [], {}),
    "squeeze_axes": ("Squeeze", X[:1, :, :1], [np.array([-2])], {}),
    "unsqueeze": ("Unsqueeze", X, [np.array([-1, 0, 3])], {}),
    "identity": ("Identity", X, [], {}),
    "gather": ("Gather", X, [np.array([[2, 0], [-1, 1]])], {"axis": 1}),
    "gather_int32": ("Gather", X, [np.array(3, np.int32)], {"axis": -1}),
    "gather_none": ("Gather", X, [np.zeros((0, 2), np.int64)], {}),
    "slice": ("Slice", X, [np.array([1, 0]), np.array([3, -1]), np.array([1, 3])], {}),
    "slice_far": ("Slice", X, [np.array([INT_MIN, -2]), np.array([INT_MAX, INT_MAX]), np.array([2, -1])], {}),
    "slice_steps": ("Slice", X, [np.array([0, 4]), np.array([9, INT_MIN]), np.array([1, 3]), np.array([2, -2])], {}),
    "slice_reverse": ("Slice", X, [np.array([-1]), np.array([INT_MIN]), np.array([0]), np.array([INT_MIN])], {}),
    "slice_int32": ("Slice", X, [np.array([3], np.int32), np.array([1], np.int32)], {}),
    "concat": ("Concat", X, [X[:, :1], X], {"axis": 1}),
    "concat_last": ("Concat", X, [X[..., :0], X], {"axis": -1}),
    "shape": ("Shape", X, [], {}),
    "shape_part": ("Shape", X, [], {"start": 1, "end": -1}),
}
CASTS = [np.float32, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
         np.bool_]


def glue_model(constant: bool) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    nodes, feeds, others = [], {}, {}
    for name, (op, data, further, attributes) in GLUE.items():
        feeds[f"{name}_in"] = np.asarray(data)
        more = {f"{name}_in{i}": np.asarray(array) for i, array in enumerate(further)}
        others |= more
        nodes.append(helper.make_node(op, [f"{name}_in", *more], [name], name=name, **attributes))
    if not constant:
        feeds |= others
    return model_of(nodes, feeds, list(GLUE), others if constant else None, open_extents=False), feeds


@pytest.mark.parametrize("constant", [True, False])
def test_glue_is_onnxruntimes(constant: bool, tmp_path: Path) -> None:
    model, feeds = glue_model(constant)
    expected = cpu_session(model).run(None, feeds)
    for name, found, wanted in zip(GLUE, octet_run(tmp_path, model, feeds), expected):
        assert found.dtype == wanted.dtype, name
        np.testing.assert_array_equal(found, wanted, err_msg=name)


def test_casts_are_onnxruntimes(tmp_path: Path) -> None:
    values = np.array([0, 1, 2, 3, 100, 126, 127, 0.4, 1.5, 99.9])
    feeds = {f"in_{np.dtype(t).name}": values.astype(t) for t in CASTS}
    nodes = [helper.make_node("Cast", [name], [f"{name}_{np.dtype(t).name}"], to=helper.np_dtype_to_tensor_dtype(
        np.dtype(t))) for name in feeds for t in CASTS]
    model = model_of(nodes, feeds, [node.output[0] for node in nodes])
    expected = cpu_session(model).run(None, feeds)
    for node, found, wanted in zip(nodes, octet_run(tmp_path, model, feeds), expected):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted, err_msg=node.output[0])


def recurrent_model(rng: np.random.Generator) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Two LSTM layers with layout operators between, a dynamic Reshape, and products after them."""
    hidden, features = 8, 6
    constants = {"scale": np.float32(0.01), "zero": np.uint8(120), "axes": np.array([1]), "last": np.array(-1),
                 "minus": np.array([-1]), "hidden": np.array([hidden]), "p_scale": np.full(3, 0.02, np.float32),
                 "P": rng.integers(-128, 128, (hidden, 3), np.int8), "s1": np.full(1, 0.01, np.float32),
                 "z1": np.zeros(1, np.int8)}
    nodes = []
    for layer, columns in (("1", features), ("2", hidden)):
        constants[f"W{layer}"] = rng.integers(-128, 128, (1, columns, 4 * hidden), np.int8)
        constants[f"R{layer}"] = rng.integers(-128, 128, (1, hidden, 4 * hidden), np.int8)
        x = "x" if layer == "1" else "y1"
        nodes += [helper.make_node("DynamicQuantizeLSTM",
                                   [x, f"W{layer}", f"R{layer}", "", "", "", "", "", "s1", "z1", "s1", "z1"],
                                   [f"Y{layer}", f"H{layer}"], name=f"lstm{layer}", domain="com.microsoft",
                                   hidden_size=hidden),
                  helper.make_node("Squeeze", [f"Y{layer}", "axes"], [f"y{layer}"])]
    nodes += [helper.make_node("Transpose", ["y2"], ["batched"], perm=[1, 0, 2]),
              helper.make_node("Concat", ["minus", "hidden"], ["rows"], axis=0),
              helper.make_node("Reshape", ["batched", "rows"], ["flat"]),
              helper.make_node("DynamicQuantizeMatMul", ["flat", "P", "p_scale"], ["out"], domain="com.microsoft"),
              helper.make_node("QuantizeLinear", ["out", "scale", "zero"], ["q"]),
              helper.make_node("QLinearSigmoid", ["q", "scale", "zero", "scale", "zero"], ["sigmoid"],
                               domain="com.microsoft"),
              helper.make_node("Gather", ["y2", "last"], ["final"], axis=0)]
    feeds = {"x": rng.standard_normal((7, 3, features)).astype(np.float32)}
    return model_of(nodes, feeds, ["out", "sigmoid", "final", "H2"], constants, types={"sigmoid": UINT8}), feeds


@pytest.mark.parametrize("options", [[], ["--threads", "2"], ["--backend", "eigen"]])
def test_a_recurrent_model_gives_the_plugins_numbers(rng: np.random.Generator, tmp_path: Path,
                                                     options: list[str]) -> None:
    model, feeds = recurrent_model(rng)
    expected = octet_session(model).run(None, feeds)
    for found, wanted in zip(octet_run(tmp_path, model, feeds, *options), expected):
        np.testing.assert_array_equal(found, wanted)


def test_lstm_quantization_reaches_the_operators(rng: np.random.Generator, tmp_path: Path) -> None:
    model, feeds = recurrent_model(rng)
    expected = octet_session(model, {"lstm_quantization": "per_tensor"}).run(None, feeds)
    for found, wanted in zip(octet_run(tmp_path, model, feeds, "--lstm-quantization", "per_tensor"), expected):
        np.testing.assert_array_equal(found, wanted)


def test_constants_in_files_and_constant_nodes(rng: np.random.Generator, tmp_path: Path) -> None:
    weight = rng.integers(-128, 128, (16, 8), np.int8)
    nodes = [helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.uint8(3))),
             helper.make_node("Constant", [], ["shape"], value_ints=[-1, 2, 4]),
             helper.make_node("MatMulInteger", ["a", "w", "zero"], ["product"]),
             helper.make_node("Reshape", ["product", "shape"], ["y"])]
    feeds = {"a": rng.integers(0, 256, (5, 16), np.uint8)}
    model = model_of(nodes, feeds, ["y", "w_copy"], {"w": weight})  # w_copy: a constant used as data
    model.graph.node.append(helper.make_node("Identity", ["w"], ["w_copy"]))
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("w_copy", INT8, [16, 8]))
    onnx.save_model(onnx.ModelProto.FromString(model.SerializeToString()), tmp_path / "big.onnx",
                    save_as_external_data=True, location="big.data", size_threshold=0)
    np.save(tmp_path / "a.npy", feeds["a"])
    subprocess.run([OCTET, "run", tmp_path / "big.onnx", "-i", f"a={tmp_path}/a.npy", "-o", tmp_path / "o"], check=True)
    expected = ((feeds["a"].astype(np.int32) - 3) @ weight.astype(np.int32)).reshape(-1, 2, 4)
    np.testing.assert_array_equal(np.load(tmp_path / "o/y.npy"), expected)
    np.testing.assert_array_equal(np.load(tmp_path / "o/w_copy.npy"), weight)


def test_what_cannot_run_is_listed(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["r"], name="r1"), helper.make_node("Softmax", ["r"], ["s"]),
             helper.make_node("Identity", ["s"], ["i"]), helper.make_node("Gelu", ["i"], ["y"], name="g",
                                                                          domain="com.microsoft")]
    feeds = {"x": np.zeros((2, 2), np.float32)}
    model = model_of(nodes, feeds, ["y"])
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, [2, 2]))
    with pytest.raises(RuntimeError, match="the model has 3 nodes that Octet does not run: Relu 'r1', Softmax, "
                                           "com.microsoft.Gelu 'g'"):
        octet_run(tmp_path, model, feeds)


@pytest.mark.parametrize("feeds, message", [
    ({}, "input 'x' is missing"),
    ({"x": np.zeros((2, 3), np.float32)}, r"input 'x' has shape \[2,3\], expected \[N,4\]"),
    ({"x": np.zeros((2, 4, 1), np.float32)}, r"input 'x' has shape \[2,4,1\], expected \[N,4\]"),
    ({"x": np.zeros((2, 4), np.int8)}, "input 'x' has type int8, expected float"),
    ({"x": np.zeros((2, 4), np.float32), "y": np.zeros((3, 4), np.float32)}, r"'N' is 2 in an input before it"),
    ({"x": np.zeros((2, 4), np.float32), "z": np.zeros(1, np.float32)}, "no input 'z', its inputs are x, y"),
])
def test_inputs_that_do_not_fit(tmp_path: Path, feeds: dict[str, np.ndarray], message: str) -> None:
    inputs = [helper.make_tensor_value_info(name, FLOAT, ["N", 4]) for name in "xy"]
    node = helper.make_node("Concat", ["x", "y"], ["z"], axis=1)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("z", FLOAT, ["N", 8])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(RuntimeError, match=message):
        octet_run(tmp_path, model, feeds)


@pytest.mark.parametrize("op, data, further, attributes, message", [
    ("Reshape", X, [np.array([7, -1])], {}, r"Reshape 'n': data has shape \[2,3,4,5\], which is no \[7,-1\]"),
    ("Reshape", X, [np.array([-1, -1])], {}, r"shape \[-1,-1\] is none"),
    ("Reshape", X, [np.array([-5])], {}, r"shape \[-5\] is none"),
    ("Reshape", X[0, 0, 0], [np.array([5, 0])], {}, "copies an extent that is not there"),
    ("Gather", X, [np.array([3])], {"axis": 1}, "index 3 is out of range for extent 3"),
    ("Gather", X, [np.array([-4])], {"axis": 1}, "index -4 is out of range for extent 3"),
    ("Slice", X, [np.array([0]), np.array([1]), np.array([0]), np.array([0])], {}, "a step is 0"),
    ("Slice", X, [np.array([0]), np.array([1]), np.array([4])], {}, "axis 4 is out of range for rank 4"),
    ("Squeeze", X, [np.array([0])], {}, "axis 0 of shape"),
    ("Unsqueeze", X, [np.array([0, 0])], {}, "axis 0 is named twice"),
])
def test_faults_of_values_are_errors_of_their_node(tmp_path: Path, op: str, data: np.ndarray, further: list,
                                                   attributes: dict, message: str) -> None:
    feeds = {"x": data} | {f"in{i}": array for i, array in enumerate(further)}
    model = model_of([helper.make_node(op, list(feeds), ["y"], name="n", **attributes)], feeds, ["y"])
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", INT8, ["a"]))
    with pytest.raises(RuntimeError, match=message):
        octet_run(tmp_path, model, feeds)


@pytest.mark.parametrize("content, message", [
    (b"", "is no .npy file"),
    (b"\x93NUMPY\x01\x00\xff\xff", "header of 65535 bytes"),
    (b"\x93NUMPY\x01\x00\x76\x00{", "is cut off"),
    (b"\x93NUMPY\x01\x00\x02\x00{}", "no 'descr'"),
])
def test_files_that_are_no_arrays(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], {"x": X}, ["y"])
    onnx.save(model, tmp_path / "m.onnx")
    done = subprocess.run([OCTET, "run", tmp_path / "m.onnx", "-i", f"x={tmp_path}/x.npy", "-o", tmp_path / "o"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize("array, message", [
    (np.asfortranarray(np.zeros((2, 3), np.int8)), "Fortran order"),
    (np.zeros((2, 3), ">f4"), "elements of type '>f4'"),
    (np.zeros((2, 3), np.complex64), "elements of type '<c8'"),
])
def test_arrays_that_octet_does_not_read(tmp_path: Path, array: np.ndarray, message: str) -> None:
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], {"x": X[0, 0]}, ["y"])
    with pytest.raises(RuntimeError, match=message):
        octet_run(tmp_path, model, {"x": array})


def test_headers_of_any_length_are_read(tmp_path: Path) -> None:
    """More than 127 bytes of header, and keys in another order."""
    x = np.arange(6, dtype=np.int8).reshape((1,) * 20 + (2, 3) + (1,) * 9)
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], {"x": x}, ["y"])
    np.testing.assert_array_equal(octet_run(tmp_path, model, {"x": x})[0], x)
    header = b"{'shape': (2, 3), 'fortran_order': False, 'descr': '|i1'}\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header + bytes(6))
    onnx.save(model_of([helper.make_node("Identity", ["x"], ["y"])], {"x": X[0, 0]}, ["y"]), tmp_path / "m.onnx")
    subprocess.run([OCTET, "run", tmp_path / "m.onnx", "-i", f"x={tmp_path}/x.npy", "-o", tmp_path / "o"], check=True)
    assert np.load(tmp_path / "o/y.npy").shape == (2, 3)
