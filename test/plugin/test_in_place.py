"""Element-wise results lie where an operand did that nobody needs any more."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from graphs import MICROSOFT
from octet_sessions import assert_same_bits, octet_session
from test_byte_functions import Elementwise
from test_memory import MEBIBYTE, result_of

WIDTH = 300


def model_of(dtype: type, keep_all: bool) -> onnx.ModelProto:
    """Operands that are needed later, twice, by a broadcast, or not at all any more. With `keep_all` every result is an
    output, which onnxruntime puts nothing else into."""
    graph = Elementwise(dtype, np.random.default_rng(5))
    for name, shape in (("x", ["rows", WIDTH]), ("b", ["rows", WIDTH]), ("row", [1, WIDTH])):
        graph.input(name, dtype, shape)
    a = graph.add_two("x", "b")
    c = graph.mul(graph.add_two(a, a), "b")
    d = graph.add_two(c, graph.mul(a, c))
    e = graph.mul("row", graph.add_two(d, "row"))
    outputs = [graph.add_two(e, graph.mul("b", e)), graph.mul(d, "x")]
    inner = [node.output[0] for node in graph.nodes if keep_all]
    for name in [*outputs, *(name for name in inner if name not in outputs)]:
        graph.output(name, dtype)
    return graph.model()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_results(dtype: type, threads: int) -> None:
    limits, rng = np.iinfo(dtype), np.random.default_rng(2)
    session = octet_session(model_of(dtype, keep_all=False), {"min_coverage": "1"}, threads=threads)
    kept = octet_session(model_of(dtype, keep_all=True))
    for rows in (1, 7, 1000, 0):
        shapes = {"x": (rows, WIDTH), "b": (rows, WIDTH), "row": (1, WIDTH)}
        feeds = {
            name: rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for name, shape in shapes.items()
        }
        given = {name: value.copy() for name, value in feeds.items()}
        outputs = session.run(None, feeds)
        assert_same_bits(outputs, kept.run(None, feeds)[: len(outputs)])
        assert all(np.array_equal(feeds[name], given[name]) for name in given)


def test_a_chain_takes_one_buffer(tmp_path: Path) -> None:
    size = 32 * MEBIBYTE
    graph = Elementwise(np.uint8, np.random.default_rng(1))
    x, y = (graph.input(name, np.uint8, [1, size]) for name in "xy")
    for _ in range(2):
        y = graph.mul(graph.add_two(y, x), x)
    sum_of = graph.add("ReduceSumInteger", [y], domain=MICROSOFT, axes=[0, 1], keepdims=0)
    graph.output(sum_of[0], np.int32)
    file = tmp_path / "model.onnx"
    onnx.save(graph.model(), file)
    script = """
options = session_options({"min_coverage": "1"})
options.enable_cpu_mem_arena = False
session = ort.InferenceSession(sys.argv[1], options, enable_fallback=False)
feeds = {value.name: np.ones(value.shape, np.uint8) for value in session.get_inputs()}

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

before = peak()
session.run(None, feeds)
print(json.dumps([before, peak()]))
"""
    before, after = result_of(script, file)
    assert 0.5 * size < after - before < 1.5 * size
