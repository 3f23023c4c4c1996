"""ONNX's own node tests of the operators that Octet computes."""

import warnings

import numpy as np
import onnx
import pytest
from onnx.backend.test.case.node import collect_testcases

from octet_sessions import CPU, octet_session

OPERATORS = {
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "QLinearMatMul",
    "QuantizeLinear",
}
EIGHT_BIT = {onnx.TensorProto.INT8, onnx.TensorProto.UINT8}


def element_types(model: onnx.ModelProto) -> set[int]:
    values = [*model.graph.input, *model.graph.output]
    return {value.type.tensor_type.elem_type for value in values}


def covered_cases() -> list:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    others = set(range(onnx.TensorProto.UINT16, 64)) - {
        onnx.TensorProto.INT32,
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.INT8,
    }
    return [
        case
        for case in cases
        if len(case.model.graph.node) == 1
        and case.model.graph.node[0].op_type in OPERATORS
        and element_types(case.model) & EIGHT_BIT
        and not element_types(case.model) & others
    ]


CASES = covered_cases()


def test_there_are_cases() -> None:
    assert {case.model.graph.node[0].op_type for case in CASES} == OPERATORS


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_node(case) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.ir_version = 10
    model.opset_import[0].version = min(model.opset_import[0].version, 23)
    session = octet_session(model, entries={"session.disable_cpu_ep_fallback": "1"})
    assert session.get_providers() != [CPU]
    names = [value.name for value in model.graph.input]
    for inputs, expected in case.data_sets:
        arrays = [np.asarray(value) for value in inputs]
        outputs = session.run(None, dict(zip(names, arrays, strict=True)))
        for actual, wanted in zip(outputs, expected, strict=True):
            assert actual.dtype == wanted.dtype
            np.testing.assert_allclose(actual, wanted, rtol=case.rtol, atol=case.atol)
