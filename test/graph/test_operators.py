"""Every operator, built through flat C, in unmodified onnx and onnxruntime."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from builder import Library
from graphs import GRAPHS, matmul_integer, session

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
