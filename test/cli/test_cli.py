"""The command line program: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from program import FAILED, USAGE, Octet

BACKENDS = {"onednn", "vector", "eigen"}


# --- ops, options, version ------------------------------------------------------------------------------------------


def test_version(octet: Octet) -> None:
    version = octet.json("version")
    assert version["isa"].startswith("avx")
    text = octet.run("version")
    assert text == octet.run("--version")
    for value in (version["octet"], version["onednn"], version["isa"]):
        assert value in text


def test_isa_cap(octet: Octet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTET_MAX_CPU_ISA", "AVX2")
    assert octet.json("version")["isa"] == "avx2"
    monkeypatch.setenv("OCTET_MAX_CPU_ISA", "SSE2")
    assert "OCTET_MAX_CPU_ISA is 'SSE2'" in octet.run("version", code=FAILED)


def test_ops(octet: Octet) -> None:
    ops = octet.json("ops")
    names = [(op["domain"], op["name"], op["since_version"]) for op in ops]
    assert len(set(names)) == len(names) >= 19
    lines = octet.run("ops").splitlines()
    assert len(lines) == len(ops)
    for op, line in zip(ops, lines, strict=True):
        assert op["name"] in line
        assert op["kernel"] and set(op["kernel"]) <= BACKENDS
        assert op["doc"] and all(port["doc"] for port in op["inputs"] + op["outputs"])


def test_one_op(octet: Octet) -> None:
    text = octet.run("ops", "com.microsoft.QGemm")
    for part in ("QGemm", "a_zero_point", "transB", "default 1.0", "tensor(int8)"):
        assert part in text
    assert {op["domain"] for op in octet.json("ops", "QuantizeLinear")} == {"", "com.microsoft"}
    assert "'Conv2'" in octet.run("ops", "Conv2", code=FAILED)


def test_options(octet: Octet) -> None:
    options = {option.pop("name"): option for option in octet.json("options")}
    assert options["threads"]["default"] == "0" and options["backend"]["environment"] == "OCTET_BACKEND"
    assert all(option["meaning"] for option in options.values())
    text = octet.run("options")
    for name, option in options.items():
        assert f"{name} ({option['environment']}; default {option['default'] or 'none'})\n  {option['meaning']}\n" in text


# --- explain a node -------------------------------------------------------------------------------------------------


def test_explain_node(octet: Octet) -> None:
    arguments = ("explain", "MatMulInteger", "-i", "uint8[2,4,8]", "-i", "int8[8,16]=random", "-i", "uint8[]=3")
    result = octet.json(*arguments)
    assert result["inputs"] == ["uint8[2,4,8]", "int8[8,16] constant", "uint8[] constant"]
    assert result["outputs"] == ["int32[2,4,16]"]
    assert result["decision"]["backend"] in BACKENDS
    assert result["decision"]["implementation"] in octet.run(*arguments)


@pytest.mark.parametrize("backend", sorted(BACKENDS - {"onednn"}))
def test_explain_forced_backend(octet: Octet, backend: str) -> None:
    result = octet.json("explain", "MatMulInteger", "-i", "uint8[4,8]", "-i", "int8[8,16]=random", "--backend", backend)
    assert result["decision"]["backend"] == backend


def test_explain_attributes_and_absent_inputs(octet: Octet) -> None:
    inputs = ["uint8[4,8]", "float[]=0.5", "uint8[]=3", "int8[16,8]=random", "float[16]=random", "int8[]=0", "-",
              "float[]=0.1", "uint8[]=7"]
    arguments = [part for text in inputs for part in ("-i", text)] + ["-a", "transB=1", "-a", "alpha=0.5"]
    result = octet.json("explain", "com.microsoft.QGemm", *arguments, "--name", "fc")
    assert (result["name"], result["outputs"], result["inputs"][6]) == ("fc", ["uint8[4,16]"], None)


def test_explain_options_of_the_lstm(octet: Octet) -> None:
    inputs = ["float[5,2,8]", "int8[1,8,64]=random", "int8[1,16,64]=random", "-", "-", "-", "-", "-", "float[1]=0.01",
              "int8[1]=0", "float[1]=0.01", "int8[1]=0"]
    arguments = ["DynamicQuantizeLSTM", *(part for text in inputs for part in ("-i", text))]

    def reasons(*options: str) -> list[str]:
        return octet.json("explain", *arguments, *options)["decision"]["reasons"]

    assert not any("fast" in reason for reason in reasons())
    assert any(reason.startswith("fast: ") for reason in reasons("--accuracy", "fast"))
    together = reasons("--accuracy", "fast", "--lstm-quantization", "per_tensor")
    assert any("per_tensor" in reason or "no AVX512_BF16" in reason for reason in together)
    octet.run("bench", *arguments, "--lstm-quantization", "per_tensor", "--seconds", "0.01")
    octet.run("explain", *arguments, "--lstm-quantization", "per_step", code=USAGE)


def test_explain_node_file(octet: Octet, tmp_path: Path) -> None:
    scale = {"type": "float", "shape": [3], "constant": [1, 2, 0.5]}
    node = {"op_type": "DequantizeLinear", "domain": "com.microsoft", "attributes": {"axis": 0},
            "inputs": [{"type": "int8", "shape": [3, 2]}, scale, None]}
    path = tmp_path / "node.json"
    path.write_text(json.dumps(node))
    assert octet.json("explain", str(path))["outputs"] == ["float[3,2]"]
    node["inputs"][1]["constant"] = [1, 2]
    path.write_text(json.dumps(node))
    assert "2 values, expected 3" in octet.run("explain", str(path), code=USAGE)
    path.write_text('{"op_type": 3}')
    assert "node.json" in octet.run("explain", str(path), code=FAILED)
    path.write_text("nonsense")
    assert "node.json" in octet.run("explain", str(path), code=FAILED)
    octet.run("explain", str(tmp_path / "none.json"), code=FAILED)


def test_every_element_type_has_a_name(octet: Octet) -> None:
    """Those of the table, and the newest that ONNX has; refused only by the operator."""
    listed = {name[7:-1] for op in octet.json("ops") for constraint in op["type_constraints"]
              for name in constraint["types"]}
    for name in sorted(listed | {"float6e2m3", "float6e3m2", "int2", "float8e8m0"}):
        text = octet.run("explain", "MatMulInteger", "-i", f"{name}[2,3]=random", "-i", "int8[4,5]", "-o", name, code=FAILED)
        assert "MatMulInteger" in text and "no element type" not in text
    for name in ("", "uint9", "string[]", "tensor(int8)", "undefined"):
        octet.run("explain", "MatMulInteger", "-i", "uint8[2,3]", "-o", name, code=USAGE)


def test_refused_nodes(octet: Octet) -> None:
    text = octet.run("explain", "MatMulInteger", "-i", "uint8[2,3]", "-i", "int8[4,5]", "--name", "fc1", code=FAILED)
    assert "MatMulInteger 'fc1'" in text and "K=3" in text and "K=4" in text
    octet.run("explain", "MatMulInteger", "-i", "uint8[2,3]", code=FAILED)
    octet.run("explain", "MatMulInteger", "-i", "float[2,3]", "-i", "int8[3,5]", code=FAILED)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["ops", "--speed"],
        ["explain"],
        ["explain", "Conv2"],
        ["explain", "QuantizeLinear", "-i", "float[3]"],  # in which domain?
        ["explain", "MatMulInteger", "-i", "uint8[2,3"],
        ["explain", "MatMulInteger", "-i", "uint8[2,x]"],
        ["explain", "MatMulInteger", "-i", "uint9[2]"],
        ["explain", "MatMulInteger", "-i", "uint8[2]=many"],
        ["explain", "MatMulInteger", "-i", "uint8[2]=256"],
        ["explain", "MatMulInteger", "-i", "uint8[-2]=1"],
        ["explain", "MatMulInteger", "-i", "uint8[4294967296,4294967296]=1"],
        ["explain", "MatMulInteger", "-i", "uint8[2]", "-a", "alpha"],
        ["explain", "MatMulInteger", "-i", "uint8[2]", "-a", "alpha=1"],
        ["explain", "MatMulInteger", "--backend", "cuda"],
        ["explain", "MatMulInteger", "--threads", "0"],
        ["explain", "MatMulInteger", "--opset", "-1"],
        ["explain", "MatMulInteger", "--dim", "batch=1"],
    ],
)
def test_wrong_command_lines(octet: Octet, arguments: list[str]) -> None:
    octet.run(*arguments, code=USAGE)


def test_help_tells_exit_codes(octet: Octet) -> None:
    text = octet.run("--help")
    assert "Exit codes" in text and "explain" in text
    assert "octet explain model.onnx" in octet.run("explain", "--help")


# --- explain a model ------------------------------------------------------------------------------------------------


def quantized_model(weights: np.ndarray) -> onnx.ModelProto:
    """x -> DynamicQuantizeLinear -> MatMulInteger -> Cast, and an operator without a kernel beside them."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], name="quantize"),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["p"], name="product"),
        helper.make_node("Cast", ["p"], ["y"], name="cast", to=TensorProto.FLOAT),
        helper.make_node("ReduceSumInteger", ["q"], ["r"], name="sum", domain="com.microsoft", axes=[1], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", weights.shape[0]])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", weights.shape[1]]),
            helper.make_tensor_value_info("r", TensorProto.UINT32, ["batch"]),
        ],
        [numpy_helper.from_array(weights, "w")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


WEIGHTS = np.arange(-64, 64, dtype=np.int8).reshape(8, 16)


@pytest.mark.parametrize("external", [False, True])
def test_explain_model(octet: Octet, tmp_path: Path, external: bool) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(quantized_model(WEIGHTS), path, save_as_external_data=external, location="w.bin", size_threshold=0)
    result = octet.json("explain", str(path), "--dim", "batch=5")
    assert {key: result["summary"][key] for key in ("nodes", "of_octet")} == {"nodes": 4, "of_octet": 3}
    quantize, product, total = result["nodes"]
    assert quantize["outputs"] == ["uint8[5,8]", "float[]", "uint8[]"]
    assert product["inputs"] == ["uint8[5,8]", "int8[8,16] constant", "uint8[]"]
    assert product["decision"]["backend"] in BACKENDS
    assert (total["name"], "decision" in total) == ("sum", total.get("error") is None)
    text = octet.run("explain", str(path), "--dim", "batch=5")
    assert product["decision"]["implementation"] in text and "4 nodes, 3 of Octet's operators" in text


def test_explain_model_without_its_dimensions(octet: Octet, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(quantized_model(WEIGHTS), path)
    for node in octet.json("explain", str(path))["nodes"]:
        assert "--dim batch=" in node["error"]


def test_explain_model_with_wrong_dimensions(octet: Octet, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(quantized_model(WEIGHTS), path)
    text = octet.run("explain", str(path), "--dim", "batch=2", "--dim", "bacth=3", code=USAGE)
    assert "no input of the model has the symbolic dimension 'bacth'" in text
    assert "'batch' is given twice" in octet.run("explain", str(path), "--dim", "batch=2", "--dim", "batch=3", code=USAGE)


@pytest.mark.parametrize(("form", "shape"), [("value", "[16]"), ("value_float", "[]"), ("value_floats", "[16]")])
def test_explain_takes_constants_of_every_form(octet: Octet, tmp_path: Path, form: str, shape: str) -> None:
    scales = np.full(16, 0.5, np.float32)
    value = {"value": numpy_helper.from_array(scales), "value_float": 0.5, "value_floats": scales.tolist()}[form]
    nodes = [helper.make_node("Constant", [], ["s"], **{form: value}),
             helper.make_node("Constant", [], ["target"], value_ints=[-1, 8]),
             helper.make_node("Reshape", ["x", "target"], ["a"]),
             helper.make_node("DynamicQuantizeMatMul", ["a", "w", "s"], ["y"], domain="com.microsoft")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(WEIGHTS, "w")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    (node,) = octet.json("explain", str(tmp_path / "m.onnx"))["nodes"]
    assert node["inputs"][:3] == ["float[2,8]", "int8[8,16] constant", f"float{shape} constant"]


def test_explain_reads_shapes_that_lie_in_files(octet: Octet, tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "target"], ["a"]),
             helper.make_node("DynamicQuantizeLinear", ["a"], ["y", "s", "z"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.array([2, -1]), "target")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="d.bin", size_threshold=0)
    (node,) = octet.json("explain", str(tmp_path / "m.onnx"))["nodes"]
    assert node["inputs"] == ["float[2,8]"]


@pytest.mark.parametrize("number", ["1e300", "-1e300", "9223372036854775808", "-9223372036854775809", "2.5", '"x"'])
@pytest.mark.parametrize("place", ["shape", "opset_version", "axis"])
def test_numbers_out_of_range_are_refused(octet: Octet, tmp_path: Path, place: str, number: str) -> None:
    values = {"shape": "2", "opset_version": "1", "axis": "0"} | {place: number}
    (tmp_path / "node.json").write_text(
        f'''{{"op_type": "DequantizeLinear", "domain": "com.microsoft", "opset_version": {values["opset_version"]},
            "attributes": {{"axis": {values["axis"]}}}, "inputs": [{{"type": "int8", "shape": [3, {values["shape"]}]}},
            {{"type": "float", "shape": [3], "constant": [1, 2, 3]}}]}}''')
    code = USAGE if place == "axis" else FAILED
    octet.run("explain", str(tmp_path / "node.json"), code=code)


@pytest.mark.parametrize(("kind", "value"), [("float", "1e39"), ("float16", "-1e300"), ("bfloat16", "1e300"),
                                             ("int64", "9223372036854775808"), ("uint8", "-1"), ("int32", "1e300")])
def test_constants_out_of_range_are_refused(octet: Octet, tmp_path: Path, kind: str, value: str) -> None:
    (tmp_path / "node.json").write_text(
        f'''{{"op_type": "MatMulInteger", "inputs": [{{"type": "{kind}", "shape": [2, 2], "constant": {value}}}]}}''')
    assert "does not fit its type" in octet.run("explain", str(tmp_path / "node.json"), code=USAGE)


# --- bench -----------------------------------------------------------------------------------------------------------


def test_bench_node(octet: Octet) -> None:
    node = ("com.microsoft.MatMulIntegerToFloat", "-i", "uint8[4,64]", "-i", "int8[64,32]=random")
    node += ("-i", "float[]", "-i", "float[32]=random")
    quick = ("--seconds", "0.01", "--threads", "1,2", "--cold")
    result = octet.json("bench", *node, *quick)
    assert result["decision"]["backend"] in BACKENDS and result["outputs"] == ["float[4,32]"]
    kinds = [(times["threads"], times["caches"]) for times in result["times"]]
    assert kinds == [(1, "warm"), (1, "cold"), (2, "warm"), (2, "cold")]
    for times in result["times"]:
        assert 0 < times["min_us"] <= times["median_us"] <= times["p95_us"] and times["first_us"] > 0
    text = octet.run("bench", *node, "--seconds", "0.01")
    assert "MatMulIntegerToFloat" in text and "1 threads, warm" in text


def test_bench_model(octet: Octet, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(quantized_model(WEIGHTS), path)
    result = octet.json("bench", str(path), "--dim", "batch=5", "--seconds", "0.01")
    assert [len(node.get("times", [])) for node in result["nodes"] if "error" not in node] != []
    for node in result["nodes"]:
        assert ("times" in node) != ("error" in node)
    assert "4 nodes" in octet.run("bench", str(path), "--dim", "batch=5", "--seconds", "0.01")


def test_wrong_bench(octet: Octet) -> None:
    node = ("MatMulInteger", "-i", "uint8[4,64]", "-i", "int8[64,32]=random")
    for wrong in (("--threads", "0"), ("--threads", "1,x"), ("--seconds", "-1"), ("--seconds", "long")):
        octet.run("bench", *node, *wrong, code=USAGE)
    octet.run("bench", "NoSuchOperator", code=USAGE)
    octet.run("bench", "MatMulInteger", "-i", "uint8[4,64]", "-i", "int8[65,32]=random", code=FAILED)


def test_wrong_models(octet: Octet, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    octet.run("explain", str(path), code=FAILED)
    path.write_bytes(b"nonsense")
    octet.run("explain", str(path), code=FAILED)

    model = quantized_model(WEIGHTS)
    onnx.save(model, path)
    for dim in ("batch", "batch=", "batch=-1", "batch=x", "other=3"):
        octet.run("explain", str(path), "--dim", dim, code=USAGE)
    octet.run("explain", str(path), "-i", "uint8[2]", code=USAGE)

    model.graph.initializer[0].raw_data = b"short"
    onnx.save(model, path)
    nodes = octet.json("explain", str(path), "--dim", "batch=5")["nodes"]
    assert "'w'" in nodes[1]["error"]


def test_external_data_stays_beside_the_model(octet: Octet, tmp_path: Path) -> None:
    model = quantized_model(WEIGHTS)
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(bytes(128))
    for location in ("../outside.bin", str(tmp_path / "outside.bin"), "", "a/../../outside.bin"):
        del tensor.external_data[:]
        tensor.external_data.add(key="location", value=location)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        nodes = octet.json("explain", str(folder / "model.onnx"), "--dim", "batch=5")["nodes"]
        assert "not beside the model" in nodes[1]["error"]


# --- run -------------------------------------------------------------------------------------------------------------


def test_run_takes_the_options_of_operators(octet: Octet, tmp_path: Path) -> None:
    """With --rowwise a row has the numbers that it has alone."""
    rng = np.random.default_rng(1)
    node = helper.make_node("DynamicQuantizeMatMul", ["a", "b", "s"], ["y"], domain="com.microsoft")
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("a", TensorProto.FLOAT, ["M", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["M", 16])],
        [numpy_helper.from_array(WEIGHTS, "b"), numpy_helper.from_array(np.float32(0.01), "s")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")

    def run(a: np.ndarray, *options: str) -> np.ndarray:
        np.save(tmp_path / "a.npy", a)
        octet.run("run", str(tmp_path / "m.onnx"), "-i", f"a={tmp_path / 'a.npy'}", "-o", str(tmp_path), *options)
        return np.load(tmp_path / "y.npy")

    a = rng.standard_normal((2, 8)).astype(np.float32) * np.float32([[1], [100]])
    alone = np.concatenate([run(a[:1]), run(a[1:])])
    every = ("--rowwise", "--threads", "2", "--backend", "vector", "--accuracy", "fast",
             "--lstm-quantization", "per_tensor")
    np.testing.assert_array_equal(run(a, *every), alone)
    assert not np.array_equal(run(a), alone)
