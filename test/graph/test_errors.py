"""Wrong use of flat C."""

from __future__ import annotations

import ctypes
import itertools
import math
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from builder import GraphError, Library
from graphs import INT32, UINT8

NUMBERS = (ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_float)


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


def model_of(nodes: list[onnx.NodeProto], *initializers: np.ndarray) -> bytes:
    """Initializers are called i0, i1, ...; the input is a, the output y."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("a", UINT8, ["M", 4])],
        [helper.make_tensor_value_info("y", INT32, ["M", 5])],
        [numpy_helper.from_array(array, f"i{i}") for i, array in enumerate(initializers)])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def test_every_kind_of_refusal_has_its_number(library: Library, tmp_path: Path) -> None:
    lib, size = library.lib, ctypes.byref(ctypes.c_uint64())
    good = model_of([helper.make_node("MatMulInteger", ["a", "i0"], ["y"])], np.zeros((4, 5), np.int8))
    unsorted = model_of([helper.make_node("MatMulInteger", ["a", "nothing"], ["y"])])
    contradictory = model_of([helper.make_node("MatMulInteger", ["a", "i0"], ["y"])], np.zeros((3, 5), np.int8))
    broken = model_of([helper.make_node("MatMulInteger", ["a", "i0", "", "i1"], ["y"])], np.zeros((4, 5), np.int8),
                      np.zeros(3, np.int8))
    foreign = model_of([helper.make_node("Cast", ["a"], ["t"], to=TensorProto.FLOAT),
                        helper.make_node("Erf", ["t"], ["u"]),
                        helper.make_node("Cast", ["u"], ["y"], to=TensorProto.INT32)])
    path = str(tmp_path / "m.onnx").encode()
    Path(path.decode()).write_bytes(unsorted)
    graph, node = library.create(), lib.octet_graph_node_create(None, b"Identity", None)

    def run_model(model: bytes, options: bytes | None = None) -> int | None:
        return lib.octet_graph_model_from_bytes(model, len(model), None, options)

    argument, not_implemented, out_of_memory, invalid_model = 1, 2, 3, 5
    refusals = [
        (argument, lambda: lib.octet_graph_builder_create(99), "opset 99"),
        (argument, lambda: lib.octet_graph_builder_from_model(b"junk", 4, None), "no serialized ModelProto"),
        (argument, lambda: lib.octet_graph_builder_from_file(b"/nowhere.onnx"), "cannot be read"),
        (argument, lambda: lib.octet_graph_builder_from_file(None), "is null"),
        (argument, lambda: lib.octet_graph_check(b"junk", 4, 1), "no serialized ModelProto"),
        (argument, lambda: run_model(good, b"threads=0"), "option 'threads'"),
        (argument, lambda: run_model(good, b"backend=gpu"), "option 'backend'"),
        (argument, lambda: lib.octet_graph_builder_find_value(graph.builder, b"x", size), "'x'"),
        (not_implemented, lambda: run_model(foreign), "Erf"),
        (out_of_memory, lambda: lib.octet_graph_node_set_ints(node, b"a", size, 1 << 58), "out of memory"),
        (invalid_model, lambda: lib.octet_graph_builder_from_model(unsorted, len(unsorted), None), "nothing"),
        (invalid_model, lambda: lib.octet_graph_builder_from_file(path), "m.onnx: "),
        (invalid_model, lambda: lib.octet_graph_check(unsorted, len(unsorted), 0), "nothing"),
        (invalid_model, lambda: lib.octet_graph_check_file(path, 0), "nothing"),
        (invalid_model, lambda: lib.octet_graph_check(contradictory, len(contradictory), 1), "Incompatible dimensions"),
        (invalid_model, lambda: lib.octet_graph_infer(contradictory, len(contradictory), 1, None, size),
         "Incompatible dimensions"),
        (invalid_model, lambda: run_model(unsorted), "nothing"),
        (invalid_model, lambda: lib.octet_graph_model_from_file(path, None), "m.onnx: "),
        (invalid_model, lambda: run_model(broken), "MatMulInteger: input 'b_zero_point' has 3 elements"),
    ]
    for code, call, text in refusals:
        assert call() in (None, code), text
        assert lib.octet_graph_last_error_code() == code, library.last_error()
        assert text in library.last_error()
        assert lib.octet_graph_check(good, len(good), 1) == 0
        assert lib.octet_graph_last_error_code() == 0 and library.last_error() == ""
    lib.octet_graph_node_release(node)


EXTENTS = (0, 1, 3, 1 << 31, 1 << 56, 1 << 62, (1 << 63) - 1, -1, -2, -(1 << 63))


def test_extents_are_checked_before_they_are_multiplied(library: Library) -> None:
    """Shapes of up to 3 extents of every kind, through every function that takes extents."""
    graph = library.create()
    x = graph.input("x", UINT8, ["A", "B", "C"])
    graph.output(graph.node("QLinearSigmoid", {
        "X": x, "X_scale": graph.constant(np.float32(1)), "X_zero_point": graph.constant(np.uint8(0)),
        "Y_scale": graph.constant(np.float32(1)), "Y_zero_point": graph.constant(np.uint8(0))})[0])
    model = graph.serialize()
    lib, value, data = library.lib, ctypes.c_uint64(), ctypes.create_string_buffer(64)
    loaded = library.handle(lib.octet_graph_model_from_bytes(model, len(model), None, None))
    run = library.handle(lib.octet_graph_run_create(loaded))
    for rank in range(4):
        for dims in itertools.product(EXTENTS, repeat=rank):
            array = (ctypes.c_int64 * rank)(*dims)
            possible = min(dims, default=0) >= 0 and math.prod(max(dim, 1) for dim in dims) < 1 << 57
            count = math.prod(dims)
            fits = possible and count <= 64
            size = count if fits else 64
            assert lib.octet_graph_builder_add_constant(
                graph.builder, None, UINT8, array, rank, data, size, ctypes.byref(value)) == (0 if fits else 1), dims
            assert lib.octet_graph_run_set_input(run, 0, UINT8, array, rank, data, 64) == (0 if fits else 1), dims
            if fits:
                assert lib.octet_graph_run_execute(run) == (0 if rank == 3 else 1), dims
            lib.octet_graph_builder_add_input(graph.builder, None, UINT8, array, None, rank, ctypes.byref(value))
            if rank == 3 and not fits:
                assert lib.octet_graph_quantize_lstm_weight(data, *dims, 3, 0, 0, data, data, data, None, None) == 1
    lib.octet_graph_run_release(run)
    lib.octet_graph_model_release(loaded)
