"""The library file, and how it is found and registered."""

import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from graphs import Graph
from octet_sessions import LIBRARY, OCTET, octet_device, octet_session


def product_model() -> onnx.ModelProto:
    graph = Graph()
    a, b = graph.input("a", np.uint8, [2, 3]), graph.input("b", np.int8, [3, 2])
    graph.output(graph.add("MatMulInteger", [a, b])[0], np.int32)
    return graph.model()


def feeds() -> dict[str, np.ndarray]:
    return {"a": np.ones((2, 3), np.uint8), "b": np.ones((3, 2), np.int8)}


def tool_output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_exports_two_functions_only() -> None:
    lines = tool_output("nm", "-D", "--defined-only", str(LIBRARY)).splitlines()
    assert [line.split()[-1] for line in lines] == ["CreateEpFactories", "ReleaseEpFactory"]


@pytest.mark.parametrize("name", ["onnxruntime", "protobuf", "onnx", "octet"])
def test_links_no(name: str) -> None:
    needed = [line for line in tool_output("readelf", "-d", str(LIBRARY)).splitlines() if "NEEDED" in line]
    assert needed
    assert not [line for line in needed if f"lib{name}" in line]


def test_device() -> None:
    device = octet_device()
    assert device.ep_vendor == "Octet"
    assert device.device.type == ort.OrtHardwareDeviceType.CPU
    assert device.ep_metadata["version"].count(".") == 2


def test_same_name_twice_is_refused(registered_library: Path) -> None:
    with pytest.raises(Exception, match="already registered"):
        ort.register_execution_provider_library("octet", str(registered_library))
    octet_session(product_model()).run(None, feeds())  # and does no harm


def test_same_library_under_another_name(registered_library: Path) -> None:
    ort.register_execution_provider_library("octet again", str(registered_library))
    try:
        octet_session(product_model()).run(None, feeds())
    finally:
        ort.unregister_execution_provider_library("octet again")
    octet_session(product_model()).run(None, feeds())


def test_selected_by_policy() -> None:
    options = ort.SessionOptions()
    options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
    session = ort.InferenceSession(product_model().SerializeToString(), options)
    assert session.get_providers()[0] == OCTET
