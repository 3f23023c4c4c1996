"""Memory: weights are held once, and runs leave nothing behind. Measured in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphs import MICROSOFT, Graph, add_product, add_quantizer, random_weights
from octet_sessions import ROOT

MEBIBYTE = 1 << 20
PRELUDE = """
import ctypes, gc, json, os, sys
import numpy as np, onnxruntime as ort
from octet_sessions import LIBRARY, octet_device, session_options
ort.register_execution_provider_library("octet", str(LIBRARY))

def resident():
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

def open_session(entries={}):
    return ort.InferenceSession(sys.argv[1], session_options({}, entries=entries), enable_fallback=False)
"""


def result_of(script: str, model: Path) -> list[int]:
    command = [sys.executable, "-c", PRELUDE + script, str(model)]
    done = subprocess.run(command, cwd=ROOT / "test/plugin", check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.fixture(params=["groups", "nodes"])
def model(request: pytest.FixtureRequest, rng: np.random.Generator, tmp_path: Path) -> Path:
    """16 MiB of weights, in fused groups or in nodes of their own."""
    graph = Graph()
    x = graph.input("x", np.float32, ["rows", 1024])
    for i in range(4):
        weights = random_weights(rng, (1024, 4096))
        if request.param == "groups":
            y = add_product(graph, add_quantizer(graph, x), weights)[-1]
        else:
            inputs = [x, *map(graph.constant, (weights.values, weights.scale, weights.zero_point))]
            (y,) = graph.add("DynamicQuantizeMatMul", inputs, domain=MICROSOFT)
        graph.output(graph.add("ReduceMax", [y], keepdims=0)[0], np.float32)
        del i
    file = tmp_path / "model.onnx"
    onnx.save(graph.model(), file)
    return file


@pytest.mark.parametrize("prepacking_is_off", [False, True])
def test_sessions_of_one_model_share_the_weights(model: Path, prepacking_is_off: bool) -> None:
    entries = {"session.disable_prepacking": "1"} if prepacking_is_off else {}
    script = f"""
sizes, sessions = [resident()], []
for _ in range(3):
    sessions.append(open_session({entries!r}))
    sessions[-1].run(None, {{"x": np.ones((2, 1024), np.float32)}})
    sizes.append(resident())
print(json.dumps(sizes))
"""
    before, first, second, third = result_of(script, model)
    assert first - before > 14 * MEBIBYTE  # the packed weights, and what a first session brings along
    # onnxruntime keeps its own copy of what it was not allowed to hand over.
    own_copy = 16 * MEBIBYTE if prepacking_is_off else 0
    for growth in (second - first, third - second):
        assert growth < own_copy + 6 * MEBIBYTE


def test_many_shapes_leave_nothing_behind(rng: np.random.Generator, tmp_path: Path) -> None:
    """10,000 runs with random rows."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", 64]))
    y = add_product(graph, a, random_weights(rng, (64, 64)))[-1]
    graph.output(graph.add("ReduceMax", [y], keepdims=0)[0], np.float32)
    file = tmp_path / "model.onnx"
    onnx.save(graph.model(), file)
    script = """
session, rng = open_session(), np.random.default_rng(1)
x, sizes = np.ones((512, 64), np.float32), []
for round in range(5):
    for rows in rng.integers(1, 512, 2000, endpoint=True):
        session.run(None, {"x": x[:rows]})
    sizes.append(resident())
print(json.dumps(sizes))
"""
    sizes = result_of(script, file)
    assert sizes[-1] - sizes[0] < MEBIBYTE
