"""Wrong use of flat C."""

from __future__ import annotations

import ctypes
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from builder import GraphError, Library
from graphs import UINT8

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
    loaded = library.handle(lib.octet_graph_model_from_bytes(ctypes.create_string_buffer(model), len(model), None, None))
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
