"""Inferred types and shapes: inference.json against liboctet_graph and onnxruntime, but for differences.json."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from models import Case, OctetGraph, OnnxRuntime, Result, parse, same

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CASES = {case["id"]: Case(**case) for case in json.loads((HERE / "inference.json").read_text())["cases"]}
DIFFERENCES = json.loads((HERE / "differences.json").read_text())
KNOWN_DIFFERENCES = {name: result for topic in DIFFERENCES["differences"] for name, result in topic["cases"].items()}
OWN = [name for name, case in CASES.items() if case.domain]


@pytest.fixture(scope="module")
def octet_graph(build: Path) -> OctetGraph:
    return OctetGraph(build / "liboctet_graph.so")


def expected(case: Case) -> Result:
    return Result(error=case.error) if case.error else Result([parse(text) for text in case.outputs])


# ONNX's own operators are inferred by ONNX in liboctet_graph; schema_test.cc asks Octet's core about them.
@pytest.mark.parametrize("name", OWN)
def test_octet_graph(name: str, octet_graph: OctetGraph) -> None:
    case = CASES[name]
    result = octet_graph.infer(case)
    if case.error:
        assert result.error is not None, result
        assert case.error in result.error
    else:
        assert result.error is None
        assert [str(t) if t else "" for t in result.outputs or []] == case.outputs


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_agrees_or_the_difference_is_listed(name: str) -> None:
    result = OnnxRuntime().infer(CASES[name])
    if same(expected(CASES[name]), result):
        assert name not in KNOWN_DIFFERENCES, "listed as a difference, but there is none"
    else:
        assert KNOWN_DIFFERENCES.get(name) == str(result), result.error


def test_differences_are_of_this_onnxruntime() -> None:
    assert DIFFERENCES["onnxruntime"] == onnxruntime.__version__
    assert set(KNOWN_DIFFERENCES) <= set(CASES)


def test_the_page_is_up_to_date() -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "schema_differences.py", "--check"], check=True)


def qgemm_model(columns: int = 3, **attributes) -> bytes:
    inputs = {"a": (TensorProto.UINT8, [2, 4]), "s": (TensorProto.FLOAT, []), "za": (TensorProto.UINT8, []),
              "b": (TensorProto.INT8, [4, 3]), "zb": (TensorProto.INT8, [columns])}
    node = helper.make_node("QGemm", ["a", "s", "za", "b", "s", "zb"], ["y"], name="fc1", domain="com.microsoft",
                            **attributes)
    relu = helper.make_node("Relu", ["y"], ["z"])
    graph = helper.make_graph([node, relu], "graph",
                              [helper.make_tensor_value_info(n, t, d) for n, (t, d) in inputs.items()],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["M", "N"])])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def check(octet_graph: OctetGraph, model: bytes, full: bool = True) -> int:
    return octet_graph.lib.octet_graph_check(model, len(model), int(full))


def test_check(octet_graph: OctetGraph) -> None:
    assert check(octet_graph, qgemm_model()) == 0, octet_graph.last_error()
    assert octet_graph.last_error() == ""
    assert check(octet_graph, qgemm_model(columns=2), full=False) == 0
    assert check(octet_graph, qgemm_model(columns=2)) == 5
    assert "QGemm 'fc1': input 'b_zero_point' has 2 elements, expected 1 or N=3" in octet_graph.last_error()
    assert check(octet_graph, qgemm_model(beta=1.0)) == 5
    assert "beta" in octet_graph.last_error()


def test_infer_fills_in_values_between(octet_graph: OctetGraph) -> None:
    inferred = octet_graph.infer_model(qgemm_model())
    (value,) = inferred.graph.value_info
    assert value.name == "y"
    assert [d.dim_value for d in value.type.tensor_type.shape.dim] == [2, 3]
    onnx.checker.check_model(inferred)


def test_not_strict_leaves_faulty_nodes(octet_graph: OctetGraph) -> None:
    with pytest.raises(ValueError, match="b_zero_point"):
        octet_graph.infer_model(qgemm_model(columns=2))
    assert not octet_graph.infer_model(qgemm_model(columns=2), strict=False).graph.value_info


@pytest.mark.parametrize("declared, kept", [(TensorProto.UINT32, TensorProto.UINT32),
                                            (TensorProto.INT32, TensorProto.INT32), (None, TensorProto.UINT32)])
def test_reduce_sum_integer_keeps_a_declared_type(octet_graph: OctetGraph, declared: int | None, kept: int) -> None:
    node = helper.make_node("ReduceSumInteger", ["x"], ["y"], domain="com.microsoft", axes=[0], keepdims=0)
    output = helper.make_tensor_value_info("y", declared, None) if declared else onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([node], "graph", [helper.make_tensor_value_info("x", TensorProto.UINT8, [4])], [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    inferred = octet_graph.infer_model(model.SerializeToString(), strict=False)
    assert inferred.graph.output[0].type.tensor_type.elem_type == kept


@pytest.mark.parametrize("model", [b"", b"not a model", b"\x08"])
def test_what_is_no_model_is_refused(octet_graph: OctetGraph, model: bytes) -> None:
    assert check(octet_graph, model) == 1
    assert "ModelProto" in octet_graph.last_error()


def test_null_and_small_buffers(octet_graph: OctetGraph) -> None:
    model = qgemm_model()
    lib = octet_graph.lib
    assert lib.octet_graph_check(None, 10, 0) == 1
    assert lib.octet_graph_infer(model, len(model), 1, None, None) == 1
    size = ctypes.c_uint64(3)
    assert lib.octet_graph_infer(model, len(model), 1, ctypes.create_string_buffer(3), ctypes.byref(size)) == 1
    assert "has 3 bytes" in octet_graph.last_error()
    assert size.value > 3
    assert lib.octet_graph_abi_version() == 1


def test_every_microsoft_operator_is_registered(octet_graph: OctetGraph) -> None:
    octet_graph.lib.octet_graph_registered_schemas.restype = ctypes.c_uint64
    assert octet_graph.lib.octet_graph_registered_schemas() == 14


@pytest.fixture
def external_model(tmp_path: Path) -> Path:
    """QGemm, and a Reshape by a shape, whose constants lie in a file of their own."""
    model = onnx.load_from_string(qgemm_model())
    graph = model.graph
    b = next(value for value in graph.input if value.name == "b")
    graph.input.remove(b)
    graph.initializer.append(onnx.numpy_helper.from_array(np.ones((4, 3), np.int8), "b"))
    graph.initializer.append(onnx.numpy_helper.from_array(np.array([3, 2], np.int64), "shape"))
    graph.node.append(helper.make_node("Reshape", ["z", "shape"], ["r"]))
    graph.output.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, ["P", "Q"]))
    path = tmp_path / "m.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="m.data", size_threshold=0)
    return path


def test_infer_with_external_data(octet_graph: OctetGraph, external_model: Path,
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    serialized = external_model.read_bytes()

    def shapes(strict: bool) -> dict[str, list[int]]:
        inferred = octet_graph.infer_model(serialized, strict)
        assert all(t.data_location == TensorProto.EXTERNAL for t in inferred.graph.initializer)
        values = [*inferred.graph.value_info, *inferred.graph.output]
        return {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim] for value in values}

    # Elsewhere the shape of Reshape cannot be read; all other nodes are inferred.
    assert shapes(strict=False) == {"y": [2, 3], "z": [2, 3], "r": [0, 0]}
    with pytest.raises(ValueError, match="shape"):
        shapes(strict=True)
    monkeypatch.chdir(external_model.parent)
    assert shapes(strict=True) == {"y": [2, 3], "z": [2, 3], "r": [3, 2]}


@pytest.mark.parametrize("full", [False, True])
def test_check_file_looks_for_external_data_beside_the_model(octet_graph: OctetGraph, external_model: Path,
                                                             full: bool) -> None:
    path = str(external_model).encode()
    assert octet_graph.lib.octet_graph_check_file(path, int(full)) == 0, octet_graph.last_error()
    assert check(octet_graph, external_model.read_bytes()) == 5  # not in the current directory
    assert "m.data" in octet_graph.last_error()
    (external_model.parent / "m.data").unlink()
    assert octet_graph.lib.octet_graph_check_file(path, int(full)) == 5
    assert "m.data" in octet_graph.last_error()
    assert octet_graph.lib.octet_graph_check_file(None, int(full)) == 1


def test_external_data_behind_more_than_two_gigabytes(octet_graph: OctetGraph, external_model: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx.load(external_model, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "offset":
                entry.value = str(int(entry.value) + (3 << 30))
    data = external_model.parent / "m.data"
    content = data.read_bytes()
    with data.open("r+b") as file:  # sparse
        file.seek(3 << 30)
        file.write(content)
    external_model.write_bytes(model.SerializeToString())
    path = str(external_model).encode()
    assert octet_graph.lib.octet_graph_check_file(path, 1) == 0, octet_graph.last_error()
    monkeypatch.chdir(external_model.parent)
    assert octet_graph.infer_model(model.SerializeToString()).graph.value_info
