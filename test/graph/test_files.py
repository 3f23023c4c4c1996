"""Models in files, with external data and over 2 GB, through flat C and in onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto

from builder import GraphError, Library
from graphs import UINT8, session


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
