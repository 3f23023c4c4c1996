"""The scalar reference against onnxruntime's CPU provider and against ONNX's own node tests."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from octet_cases import DATA_TYPES, Case, fnv1a, load_cases, load_table, make_inputs, table_files
from octet_reference import BUILD, Reference, packed
from onnx import helper, numpy_helper

# Cases (by a pattern of their name) that onnxruntime computes otherwise, and why the reference does not follow it.
NO_K = ("no_k", "onnxruntime does not write the output where K is 0")
OVERFLOW = ("special_scales", "onnxruntime converts to int32 before it clamps: large values become 0 instead of the end")
ACTIVATIONS = (".*", "float operations in another order, and wrong activations: test/lstm and test/plugin measure it")
# Operators of which onnxruntime has the schema only.
NO_KERNEL = {"com.microsoft.MulInteger", "com.microsoft.ReduceSumInteger", "com.microsoft.QLinearReduceMean"}
NAN = ("not_finite/.*(nan|all)", "onnxruntime passes over NaN when it looks for the range of the data")
DEPARTURES = {
    "MatMulInteger": [NO_K],
    "QLinearMatMul": [NO_K],
    "com.microsoft.MatMulIntegerToFloat": [NO_K],
    "com.microsoft.QGemm": [NO_K],
    "com.microsoft.DynamicQuantizeMatMul": [NO_K, NAN],
    "DynamicQuantizeLinear": [NAN],
    "com.microsoft.QLinearAdd": [OVERFLOW],
    "com.microsoft.QLinearMul": [OVERFLOW],
    "com.microsoft.DynamicQuantizeLSTM": [ACTIVATIONS],
    "com.microsoft.DequantizeLinear": [
        (pattern, "onnxruntime subtracts an int32 zero point modulo 2^32")
        for pattern in ("int32_extremes", "types/int32_.*_z$", "(axes|sizes|special_scales|large)/.*int32")
    ],
}


def _kills_onnxruntime(case: Case) -> bool:
    """Forms of which onnxruntime 1.32 dies, with the whole process."""
    absent = [port is None for port in case.inputs]
    if case.op_type in ("QLinearLeakyRelu", "QLinearSigmoid"):
        return len(absent) < 5  # the last optional input left out: at load
    if case.op_type == "QLinearConcat":
        return any(absent)  # a zero point without a name: in the run
    if case.op_type == "DynamicQuantizeLSTM":
        return case.inputs[0].dims[1] == 0  # an empty batch: in the run
    return False


LARGE = 200_000  # elements of an operand; the reference takes its time over more


@pytest.fixture(scope="session")
def reference() -> Reference:
    return Reference()


def _expected(reference: Reference, case: Case, inputs: list[np.ndarray | None]) -> list[np.ndarray]:
    outputs = [None if port is None else (DATA_TYPES[port.dtype][0], port.dims) for port in case.outputs]
    return reference.run(case.domain, case.op_type, case.opset_version, case.attributes, inputs, outputs)


def _model(case: Case, inputs: list[np.ndarray | None]) -> onnx.ModelProto:
    names = ["" if array is None else f"x{index}" for index, array in enumerate(inputs)]
    outputs = ["" if port is None else f"y{index}" for index, port in enumerate(case.outputs)]
    node = helper.make_node(case.op_type, names, outputs, domain=case.domain)
    for name, value in case.attributes.items():  # an empty list does not tell its type: axes
        kind = onnx.AttributeProto.INTS if value == [] else None
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    graph = helper.make_graph(
        [node],
        "case",
        [
            helper.make_tensor_value_info(f"x{index}", DATA_TYPES[port.dtype][0], port.dims)
            for index, port in enumerate(case.inputs)
            if port is not None
        ],
        [
            helper.make_tensor_value_info(f"y{index}", DATA_TYPES[port.dtype][0], port.dims)
            for index, port in enumerate(case.outputs)
            if port is not None
        ],
    )
    opsets = {"": 21, case.domain: case.opset_version}
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def _run_onnxruntime(case: Case, inputs: list[np.ndarray | None]) -> list[onnxruntime.OrtValue] | None:
    """None where onnxruntime does not compute the case."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    feeds = {
        f"x{index}": onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
            array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array,
            DATA_TYPES[case.inputs[index].dtype][0],
        )
        for index, array in enumerate(inputs)
        if array is not None
    }
    try:
        session = onnxruntime.InferenceSession(
            _model(case, inputs).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run_with_ort_values(None, feeds)
    except Exception as error:  # onnxruntime has one exception type for each of its error codes
        if "NOT_IMPLEMENTED" in str(error) or "INVALID_GRAPH" in str(error) or "Fail" in type(error).__name__:
            return None
        if "INVALID_ARGUMENT" in str(error) or "RUNTIME_EXCEPTION" in str(error):
            return None
        raise


def _same(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype.kind == "f":
        return np.array_equal(left.view(f"u{left.itemsize}"), right.view(f"u{right.itemsize}")) or (
            np.array_equal(left, right, equal_nan=True)
            and np.array_equal(np.signbit(left)[~np.isnan(left)], np.signbit(right)[~np.isnan(right)])
        )
    return np.array_equal(left, right)


def _comparable(case: Case) -> bool:
    """4-bit and bfloat16 tensors do not pass through onnxruntime's Python interface."""
    types = [port.dtype for port in (*case.inputs, *case.outputs) if port is not None]
    sizes = [int(np.prod(port.dims, dtype=np.int64)) for port in case.inputs if port is not None]
    return not {"uint4", "int4", "bfloat16"} & set(types) and max(sizes) <= LARGE


COMPARED = [
    path
    for path in table_files()
    if path.stem not in NO_KERNEL and ACTIVATIONS not in DEPARTURES.get(path.stem, [])
]


@pytest.mark.parametrize("path", COMPARED, ids=lambda path: path.stem)
def test_equals_onnxruntime(reference: Reference, path: Path) -> None:
    compared, refused, differing = 0, 0, []
    for case in filter(_comparable, load_table(path)):
        if any(re.search(pattern, case.name) for pattern, _ in DEPARTURES.get(case.qualified_op, [])):
            continue
        if _kills_onnxruntime(case):
            refused += 1
            continue
        inputs = make_inputs(case)
        found = _run_onnxruntime(case, inputs)
        if found is None:
            refused += 1
            continue
        compared += 1
        for value, expected in zip(found, _expected(reference, case, inputs), strict=True):
            if not _same(value.numpy(), expected):
                differing.append(case.name)
                break
    print(f"{path.stem}: {compared} cases compared, {refused} refused by onnxruntime {onnxruntime.__version__}")
    assert not differing
    assert compared > 0


def test_contents_are_the_same_in_cpp() -> None:
    printed = subprocess.run([BUILD / "octet_print_cases"], check=True, capture_output=True, text=True).stdout
    lines = []
    for case in load_cases():
        arrays = make_inputs(case)
        lines.append(" ".join([str(case), *(_hash_of(array) for array in arrays)]))
    assert printed.splitlines() == lines


def _hash_of(array: np.ndarray | None) -> str:
    if array is None:
        return "absent"
    data = packed(array) if array.dtype in (ml_dtypes.int4, ml_dtypes.uint4) else array
    return format(fnv1a(data.tobytes()[:1000]), "016x")


def _node_tests() -> list:
    from onnx.backend.test.loader import load_model_tests

    wanted = ("matmulinteger", "qlinearmatmul", "quantizelinear", "dequantizelinear", "dynamicquantizelinear")
    return [
        test
        for test in load_model_tests(kind="node")
        if any(f"test_{name}" in f"{test.name}_" for name in wanted) and "_expanded" not in test.name
    ]


def _types(test) -> set[int]:
    graph = test.model.graph
    return {value.type.tensor_type.elem_type for value in [*graph.input, *graph.output]}


@pytest.mark.parametrize("test", _node_tests(), ids=lambda test: test.name)
def test_equals_onnx_node_test(reference: Reference, test) -> None:
    if not _types(test) <= {number for number, _ in DATA_TYPES.values()}:
        pytest.skip("not a type of the reference")
    graph = test.model.graph
    (node,) = graph.node
    version = next(opset.version for opset in test.model.opset_import if opset.domain == node.domain)
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    for given, expected in test.data_sets:
        feeds = dict(zip((value.name for value in graph.input), map(_array, given), strict=True))
        results = [_array(value) for value in expected]
        numbers = [value.type.tensor_type.elem_type for value in graph.output]
        found = reference.run(
            node.domain,
            node.op_type,
            version,
            attributes,
            [feeds[name] if name else None for name in node.input],
            [(number, array.shape) for number, array in zip(numbers, results, strict=True)],
        )
        for value, result in zip(found, results, strict=True):
            np.testing.assert_array_equal(value.astype(np.float64), result.astype(np.float64))


def _array(value: np.ndarray | onnx.TensorProto) -> np.ndarray:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
