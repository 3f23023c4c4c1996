"""Sessions beside each other, threads, processes, and the library coming and going."""

import ctypes
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from graphs import MICROSOFT, Graph, add_product, add_quantizer, random_weights
from octet_sessions import (
    ROOT,
    assert_same_bits,
    cpu_session,
    octet_session,
    run_profiled,
    session_options,
)

Arrays = dict[str, np.ndarray]


def mixed_model(rng: np.random.Generator, size: int = 96) -> onnx.ModelProto:
    """A fused group, and a node that one of the kernels runs."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", size]))
    graph.output(add_product(graph, a, random_weights(rng, (size, size)))[-1], np.float32)
    weights = random_weights(rng, (size, size), np.uint8, per_column=True)
    assert weights.zero_point is not None
    inputs = [a.y, graph.constant(weights.values), a.scale, graph.constant(weights.scale), a.zero_point]
    inputs += [graph.constant(weights.zero_point), graph.constant(np.ones(size, np.float32))]
    graph.output(graph.add("MatMulIntegerToFloat", inputs, domain=MICROSOFT)[0], np.float32)
    return graph.model()


def inputs_of(rng: np.random.Generator, count: int, size: int = 96) -> list[Arrays]:
    return [
        {"x": rng.normal(0, 2, (int(rows), size)).astype(np.float32)}
        for rows in rng.integers(1, 40, count)
    ]


def run_in_threads(count: int, work: Callable[[int], None]) -> None:
    failures: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("pool", [1, 2])
def test_two_sessions_and_many_threads(rng: np.random.Generator, pool: int) -> None:
    model = mixed_model(rng)
    sessions = [octet_session(model, threads=pool) for _ in range(2)]
    feeds = inputs_of(rng, 12)
    expected = [cpu_session(model).run(None, feed) for feed in feeds]

    def work(index: int) -> None:
        for i in range(60):
            turn = (i + index) % len(feeds)
            outputs = sessions[(i + index) % 2].run(None, feeds[turn])
            assert_same_bits(outputs, expected[turn])

    run_in_threads(6, work)


@pytest.mark.parametrize("pool", [1, 2, 3])
def test_octet_starts_no_thread(rng: np.random.Generator, pool: int) -> None:
    """A session on Octet has the threads that onnxruntime gives it, and none besides."""
    model = mixed_model(rng)
    started = {}
    for name, make in (("cpu", cpu_session), ("octet", octet_session)):
        before = len(os.listdir("/proc/self/task"))
        session = make(model, threads=pool)
        for feed in inputs_of(rng, 5):
            session.run(None, feed)
        started[name] = len(os.listdir("/proc/self/task")) - before
        del session
        gc.collect()
    assert started == {"cpu": pool - 1, "octet": pool - 1}


def test_sessions_made_by_many_threads(rng: np.random.Generator) -> None:
    model = mixed_model(rng)
    (feed,) = inputs_of(rng, 1)
    expected = cpu_session(model).run(None, feed)

    def work(_: int) -> None:
        for _ in range(5):
            assert_same_bits(octet_session(model).run(None, feed), expected)

    run_in_threads(4, work)


def test_sessions_with_different_options(rng: np.random.Generator) -> None:
    model = mixed_model(rng)
    (feed,) = inputs_of(rng, 1)
    expected = cpu_session(model).run(None, feed)
    sessions = [octet_session(model, {"backend": b}) for b in ("auto", "eigen", "vector")]
    for _ in range(3):
        for session in sessions:
            assert_same_bits(session.run(None, feed), expected)


@pytest.mark.parametrize("spinning", ["0", "1"])
def test_waiting_threads(rng: np.random.Generator, tmp_path: Path, spinning: str) -> None:
    """How the session's threads wait decides on when work is cut, and never on results."""
    model = mixed_model(rng)
    (feed,) = inputs_of(rng, 1)
    entries = {"session.intra_op.allow_spinning": spinning}
    run = run_profiled(model, feed, tmp_path, threads=2, entries=entries)
    assert run.report["spinning"] is (spinning == "1")
    assert_same_bits(run.outputs, cpu_session(model).run(None, feed))


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_execution_modes(rng: np.random.Generator, mode: str) -> None:
    model = mixed_model(rng)
    options = session_options({}, threads=2)
    if mode == "parallel":
        options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    session = ort.InferenceSession(model.SerializeToString(), options)
    for feed in inputs_of(rng, 5):
        assert_same_bits(session.run(None, feed), cpu_session(model).run(None, feed))


def test_prepacking_disabled(rng: np.random.Generator, tmp_path: Path) -> None:
    model = mixed_model(rng)
    (feed,) = inputs_of(rng, 1)
    entries = {"session.disable_prepacking": "1"}
    run = run_profiled(model, feed, tmp_path, entries=entries)
    assert_same_bits(run.outputs, cpu_session(model).run(None, feed))
    assert not run.on_cpu()


@pytest.mark.parametrize("kind", ["kernel", "group"])
@pytest.mark.parametrize("prepacking", ["0", "1"])
def test_weights_are_held_once(rng: np.random.Generator, kind: str, prepacking: str) -> None:
    """Sessions of one model share their packed weights, and onnxruntime keeps no copy of its own."""
    size, count = 2048, 4
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", size]))
    for _ in range(count):
        weights = random_weights(rng, (size, size))
        if kind == "group":
            graph.output(add_product(graph, a, weights)[-1], np.float32)
            continue
        inputs = [a.y, graph.constant(weights.values), a.scale, graph.constant(weights.scale), a.zero_point]
        graph.output(graph.add("MatMulIntegerToFloat", inputs, domain=MICROSOFT)[0], np.float32)
    serialized = graph.model().SerializeToString()
    entries = {"session.disable_prepacking": "1"} if prepacking == "0" else {}
    kept = []

    def growth() -> int:
        before = resident_bytes()
        kept.append(ort.InferenceSession(serialized, session_options({}, entries=entries)))
        kept[-1].run(None, {"x": np.ones((1, size), np.float32)})
        return resident_bytes() - before

    weight_bytes = count * size * size
    assert growth() < (3 if entries and kind == "kernel" else 2) * weight_bytes
    per_session = (growth() + growth() + growth()) / 3
    # Where nothing is prepacked, onnxruntime keeps the constants of kernels (not of groups) whatever they say.
    own_copies = 1 if entries and kind == "kernel" else 0
    assert per_session < (own_copies + 0.5) * weight_bytes


def resident_bytes() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_many_sessions_leave_nothing(rng: np.random.Generator) -> None:
    model = mixed_model(rng, 256)
    (feed,) = inputs_of(rng, 1, 256)

    def sessions(count: int) -> int:
        for _ in range(count):
            octet_session(model).run(None, feed)
        return resident_bytes()

    before = sessions(20)
    assert sessions(100) - before < 4e6


def run_and_compare(session: ort.InferenceSession, feed: Arrays, expected: list[np.ndarray]) -> None:
    for _ in range(20):
        assert_same_bits(session.run(None, feed), expected)


def make_run_and_compare(model: onnx.ModelProto, feed: Arrays, expected: list[np.ndarray]) -> None:
    run_and_compare(octet_session(model, threads=2), feed, expected)


def in_child(work: Callable[..., None], *arguments: object) -> None:
    child = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    child.start()
    child.join(60)
    if child.is_alive():
        child.kill()
        raise AssertionError("the forked process hangs")
    assert child.exitcode == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_fork_with_a_session(rng: np.random.Generator) -> None:
    """A session without threads of its own goes on in a forked process."""
    model = mixed_model(rng)
    (feed,) = inputs_of(rng, 1)
    session = octet_session(model, threads=1)
    expected = session.run(None, feed)
    in_child(run_and_compare, session, feed, expected)
    run_and_compare(session, feed, expected)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_fork_before_the_session(rng: np.random.Generator) -> None:
    """As servers do: the library is registered, the workers make their sessions."""
    model = mixed_model(rng)
    (feed,) = inputs_of(rng, 1)
    expected = octet_session(model, threads=1).run(None, feed)
    in_child(make_run_and_compare, model, feed, expected)


PRELUDE = """
import gc, os, sys
import numpy as np, onnxruntime as ort
from octet_sessions import LIBRARY, OCTET, octet_device
model = open(sys.argv[1], "rb").read()
def register(): ort.register_execution_provider_library("octet", str(LIBRARY))
def unregister(): gc.collect(); ort.unregister_execution_provider_library("octet")
def session(threads=2):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_provider_for_devices([octet_device()], {})
    return ort.InferenceSession(model, options)
def run(s): return s.run(None, {"x": np.ones((3, 96), np.float32)})
"""

SCRIPTS = {
    "re-registration": """
first = None
for _ in range(5):
    register()
    s = session()
    outputs = run(s)
    first = first or outputs
    assert all(np.array_equal(a, b) for a, b in zip(first, outputs))
    del s
    unregister()
    assert OCTET not in [d.ep_name for d in ort.get_ep_devices()]
""",
    "register and unregister only": """
for _ in range(10):
    register()
    unregister()
""",
    "exit with a live session": """
register()
s = session()
run(s)
""",
    "exit while a thread runs": """
import threading
register()
s = session()
def forever():
    while True: run(s)
thread = threading.Thread(target=forever, daemon=True)
thread.start()
thread.join(0.2)
sys.stdout.flush()
os._exit(0)
""",
    "session outlives its options": """
register()
s = session()
gc.collect()
run(s)
del s
unregister()
""",
    "interpreter teardown in any order": """
register()
import builtins
builtins.kept = [session(), session(1)]
for s in builtins.kept: run(s)
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_in_its_own_process(rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(mixed_model(rng), file)
    result = subprocess.run(
        [sys.executable, "-c", PRELUDE + SCRIPTS[name], str(file)],
        cwd=ROOT / "test/plugin",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(
    ort.__version__.startswith(("1.24.", "1.25.")), reason="needs onnxruntime 1.26: providers by name"
)
@pytest.mark.parametrize("by", ["name", "name and options", "session options"])
def test_provider_by_name(rng: np.random.Generator, by: str) -> None:
    model = mixed_model(rng).SerializeToString()
    if by == "name":
        session = ort.InferenceSession(model, providers=["OctetExecutionProvider", "CPUExecutionProvider"])
    elif by == "name and options":
        session = ort.InferenceSession(model, providers=[("OctetExecutionProvider", {"threads": "1"})])
    else:
        options = ort.SessionOptions()
        options.add_provider("OctetExecutionProvider", {"threads": "1"})
        session = ort.InferenceSession(model, options)
    assert session.get_providers()[0] == "OctetExecutionProvider"
    session.run(None, {"x": np.ones((3, 96), np.float32)})
