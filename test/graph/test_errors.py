"""Wrong use of flat C."""

from __future__ import annotations

import ctypes
from pathlib import Path

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
