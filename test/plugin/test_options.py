"""The provider's options: by session and by environment, and what is said of wrong ones."""

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphs import MICROSOFT, Graph, add_product, add_quantizer, add_unsupported, random_weights
from octet_sessions import ROOT, octet_session, run_profiled

PREFIX = "ep.octetexecutionprovider."


def product_model(rng: np.random.Generator) -> onnx.ModelProto:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)))[-1], np.float32)
    return graph.model()


def feeds(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"x": rng.normal(0, 1, (4, 16)).astype(np.float32)}


WHOLE_NUMBER = "a whole number from 0 (all of the session's threads) to 1024"
NAMED_VALUES = 'NAME=VALUE of different symbolic dimensions, "batch=1,sequence=128;batch=8,sequence=32"'
SHARE = "a share of the quantized nodes from 0 to 1"
WRONG = [
    ("threads", "many", WHOLE_NUMBER),
    ("threads", "-1", WHOLE_NUMBER),
    ("threads", "2.5", WHOLE_NUMBER),
    ("threads", "1000000", WHOLE_NUMBER),
    ("threads", "99999999999999999999", WHOLE_NUMBER),
    ("backend", "gpu", "auto, onednn, vector or eigen"),
    ("accuracy", "high", "exact or fast"),
    ("lstm_quantization", "per_step", "per_row or per_tensor"),
    ("rowwise", "yes", "0 or 1"),
    ("verbose", "yes", "none or dispatch"),
    ("min_coverage", "all", SHARE),
    ("min_coverage", "1.5", SHARE),
    ("min_coverage", "-0.1", SHARE),
    ("min_coverage", "nan", SHARE),
    ("warmup", "batch", NAMED_VALUES),
    ("warmup", "batch=x", NAMED_VALUES),
    ("warmup", "batch=-1", NAMED_VALUES),
    ("warmup", "rows=4;;rows=5", NAMED_VALUES),
    ("warmup", "=4", NAMED_VALUES),
    ("warmup", "rows=4,rows=5", NAMED_VALUES),
    ("warmup", "rows=99999999999999999999", NAMED_VALUES),
    ("report", "/nowhere/at/all.json", "the path of a file that can be written"),
]


@pytest.mark.parametrize(("name", "value", "expected"), WRONG)
def test_wrong_option(rng: np.random.Generator, name: str, value: str, expected: str) -> None:
    with pytest.raises(Exception) as failure:
        octet_session(product_model(rng), {name: value})
    assert "INVALID_ARGUMENT" in str(failure.value)
    assert f"Octet: option '{name}' is '{value}', expected {expected}" in str(failure.value)


@pytest.mark.parametrize(("name", "value", "expected"), WRONG)
def test_wrong_environment(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    variable = f"OCTET_{name.upper()}"
    monkeypatch.setenv(variable, value)
    with pytest.raises(Exception) as failure:
        octet_session(product_model(rng))
    text = f"Octet: environment variable {variable} is '{value}', expected {expected}"
    assert text in str(failure.value)


def test_unknown_option_lists_the_known(rng: np.random.Generator) -> None:
    with pytest.raises(Exception) as failure:
        octet_session(product_model(rng), {"thread": "1"})
    assert "unknown option 'thread'" in str(failure.value)
    known = ("threads", "backend", "accuracy", "lstm_quantization", "rowwise", "verbose", "min_coverage", "report", "warmup")
    for name in known:
        assert name in str(failure.value)


def test_wrong_option_as_session_entry(rng: np.random.Generator) -> None:
    with pytest.raises(Exception, match="option 'threads' is 'x'"):
        octet_session(product_model(rng), entries={PREFIX + "threads": "x"})


def test_session_goes_before_environment(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTET_BACKEND", "eigen")
    model, inputs = product_model(rng), feeds(rng)
    by_environment = run_profiled(model, inputs, tmp_path)
    by_session = run_profiled(model, inputs, tmp_path, {"backend": "vector"})
    assert {o["backend"] for o in by_environment.report["operators"]} == {"eigen"}
    assert {o["backend"] for o in by_session.report["operators"]} == {"vector"}


@pytest.mark.parametrize("threads", ["0", "1", "2", "1024"])
@pytest.mark.parametrize("pool", [1, 2, 4])
def test_threads(rng: np.random.Generator, threads: str, pool: int) -> None:
    """Enough work to be split; the bits do not depend on the threads."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", 512]))
    graph.output(add_product(graph, a, random_weights(rng, (512, 1024)))[-1], np.float32)
    model = graph.model()
    inputs = {"x": rng.normal(0, 1, (64, 512)).astype(np.float32)}
    expected = octet_session(model, {"threads": "1"}, threads=1).run(None, inputs)
    session = octet_session(model, {"threads": threads}, threads=pool)
    for _ in range(12):
        assert np.array_equal(session.run(None, inputs)[0], expected[0])


@pytest.mark.parametrize(
    ("threads", "pool", "expected"), [("0", 1, 1), ("0", 2, 2), ("1", 2, 1), ("2", 4, 2), ("8", 3, 3)]
)
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two CPUs")
def test_threads_of_the_pool_are_counted(
    rng: np.random.Generator, tmp_path: Path, threads: str, pool: int, expected: int
) -> None:
    report = tmp_path / "report.json"
    options = {"threads": threads, "report": str(report)}
    counted = set()
    for _ in range(10):  # on a busy machine a thread may come too late each time
        session = octet_session(product_model(rng), options, threads=pool)
        for _ in range(300):
            session.run(None, feeds(rng))
        del session
        counted.add(json.loads(report.read_text())["threads"])
        if expected in counted:
            break
    assert max(counted) == expected


def run_with_late_thread(rng: np.random.Generator, report: Path) -> int:
    """How many threads are counted where the pool's gets no time during the first runs: it has the lowest priority on a
    busy CPU."""
    cpus = os.sched_getaffinity(0)
    main_cpu, busy_cpu = sorted(cpus)[:2]
    before = set(os.listdir("/proc/self/task"))
    session = octet_session(product_model(rng), {"report": str(report)}, threads=2)
    (thread,) = map(int, set(os.listdir("/proc/self/task")) - before)
    os.sched_setaffinity(0, {main_cpu})
    os.sched_setaffinity(thread, {busy_cpu})
    os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
    busy = subprocess.Popen(["taskset", "-c", str(busy_cpu), sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.5)
        for _ in range(20):
            session.run(None, feeds(rng))
    finally:
        busy.kill()
        busy.wait()
        os.sched_setaffinity(0, cpus)
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
    for _ in range(2000):
        session.run(None, feeds(rng))
    del session
    return json.loads(report.read_text())["threads"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_threads_that_come_late_are_counted(rng: np.random.Generator, tmp_path: Path) -> None:
    assert any(run_with_late_thread(rng, tmp_path / "report.json") == 2 for _ in range(5))


def test_report(rng: np.random.Generator, tmp_path: Path) -> None:
    report = tmp_path / 'rep"ort.json'
    session = octet_session(product_model(rng), {"report": str(report)})
    for _ in range(5):
        session.run(None, feeds(rng))
    del session
    content = json.loads(report.read_text())
    assert content["runs"] == 5
    assert content["groups"] == 1
    assert content["nodes_taken"] == 5
    assert content["quantized_nodes"] == content["quantized_taken"] == 2
    assert content["version"] and content["isa"] and content["onednn"]
    operators = content["operators"]
    assert [o["op_type"] for o in operators] == ["DynamicQuantizeLinear", "MatMulIntegerToFloat"]
    assert [o["runs"] for o in operators] == [5, 5]
    assert [o["name"] for o in operators] == ["graph_DynamicQuantizeLinear_0", "graph_MatMulInteger_1"]
    assert all(o["backend"] and o["implementation"] for o in operators)


def test_report_of_each_process(rng: np.random.Generator, tmp_path: Path) -> None:
    session = octet_session(product_model(rng), {"report": str(tmp_path / "octet-%p.json")})
    del session
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == [f"octet-{os.getpid()}.json"]


def test_report_of_a_session_that_never_ran(rng: np.random.Generator, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    session = octet_session(product_model(rng), {"report": str(report)})
    del session
    content = json.loads(report.read_text())
    assert content["runs"] == 0
    assert [o["backend"] for o in content["operators"]] == ["", ""]


@pytest.mark.parametrize(
    ("rows", "warmup", "is_planned"),
    [
        ("rows", {}, False),
        ("rows", {"warmup": "rows=4"}, True),
        ("rows", {"warmup": " rows=0; rows=4,"}, True),
        (4, {}, True),
    ],
)
def test_plans_are_made_with_the_session(
    rng: np.random.Generator, tmp_path: Path, rows: int | str, warmup: dict[str, str], is_planned: bool
) -> None:
    """For extents that are known, or that the option tells; groups and single nodes alike."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [rows, 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)))[-1], np.float32)
    parameters = [graph.constant(value) for value in (np.float32(0.1), np.uint8(3))] * 2
    inputs = [graph.input("b", np.uint8, [rows, 16]), *parameters]
    graph.output(graph.add("QLinearSigmoid", inputs, domain=MICROSOFT)[0], np.uint8)
    report = tmp_path / "report.json"
    session = octet_session(graph.model(), {"report": str(report), **warmup})
    del session
    operators = json.loads(report.read_text())["operators"]
    assert [o["op_type"] for o in operators].count("QLinearSigmoid") == 1 and len(operators) == 3
    assert all((o["backend"] != "") == is_planned for o in operators)


def model_of_many_dimensions(rng: np.random.Generator) -> onnx.ModelProto:
    """"unused" is of an input that no node takes, "found" of a value between two nodes, "inner" of one in a branch."""
    branch = Graph("branch")
    branch.output(branch.add("NonZero", ["x"])[0], np.int64, ["two", "inner"])
    other = Graph("other")
    other.output(other.add("Identity", ["n"])[0], np.int64, ["two", "n"])
    graph = Graph()
    x = graph.input("x", np.float32, ["rows", 16])
    graph.input("z", np.float32, ["unused"])
    graph.output(add_product(graph, add_quantizer(graph, x), random_weights(rng, (16, 8)))[-1], np.float32)
    condition, n = graph.input("c", np.bool_, []), graph.input("n", np.int64, [2, "n"])
    places = graph.add("NonZero", [x])[0]
    graph.output(graph.add("Transpose", [places])[0], np.int64)
    branches = {"then_branch": branch.graph(), "else_branch": other.graph()}
    graph.output(graph.add("If", [condition], **branches)[0], np.int64)
    model = graph.model()
    model.graph.value_info.append(onnx.helper.make_tensor_value_info(places, onnx.TensorProto.INT64, [2, "found"]))
    return model


@pytest.mark.parametrize("name", ["rows", "unused", "found", "inner"])
def test_warmup_knows_the_dimensions_of_the_model(rng: np.random.Generator, name: str) -> None:
    octet_session(model_of_many_dimensions(rng), {"warmup": f"{name}=3"})


@pytest.mark.parametrize(
    ("warmup", "name"), [("Rows=3", "Rows"), ("rows=3;rows=4,row=3", "row"), ("x=3", "x"), ("rows =3", "rows ")]
)
def test_warmup_with_a_dimension_that_the_model_lacks(rng: np.random.Generator, warmup: str, name: str) -> None:
    with pytest.raises(Exception) as failure:
        octet_session(model_of_many_dimensions(rng), {"warmup": warmup})
    expected = f"Octet: option 'warmup' names the dimension '{name}', which the model does not have"
    assert f"{expected}; those of its inputs are: n, rows, unused" in str(failure.value)


def test_warmup_of_a_model_of_fixed_shapes(rng: np.random.Generator) -> None:
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, [4, 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)))[-1], np.float32)
    with pytest.raises(Exception, match="'rows', which the model does not have; those of its inputs are: none"):
        octet_session(graph.model(), {"warmup": "rows=4"})


SCRIPT = """
import sys
import time
import numpy as np, onnxruntime as ort
from octet_sessions import LIBRARY, octet_device
ort.register_execution_provider_library("octet", str(LIBRARY))
options = ort.SessionOptions()
options.log_severity_level = int(sys.argv[2])
options.add_provider_for_devices([octet_device()], dict(a.split("=") for a in sys.argv[3:]))
session = ort.InferenceSession(sys.argv[1], options)
x = np.ones((2, 16), np.float32)
for rows in (2, 2, 3):
    session.run(None, {"x": np.ones((rows, 16), np.float32)})
"""


def log_of(model: Path, severity: int, *options: str, environment: dict[str, str] | None = None) -> str:
    command = [sys.executable, "-c", SCRIPT, str(model), str(severity), *options]
    result = subprocess.run(
        command,
        cwd=ROOT / "test/plugin",
        env={**os.environ, **(environment or {})},
        check=True,
        capture_output=True,
        text=True,
    )
    return result.stderr


@pytest.fixture
def model_file(rng: np.random.Generator, tmp_path: Path) -> Path:
    """A product that is taken, and a QLinearWhere that is not."""
    graph = Graph()
    a = add_quantizer(graph, graph.input("x", np.float32, ["rows", 16]))
    graph.output(add_product(graph, a, random_weights(rng, (16, 8)))[-1], np.float32)
    graph.output(add_unsupported(graph, a.y), np.uint8)
    file = tmp_path / "model.onnx"
    onnx.save(graph.model(), file)
    return file


def test_one_information_line(model_file: Path) -> None:
    lines = [line for line in log_of(model_file, 1).splitlines() if "Octet 0" in line]
    assert len(lines) == 1
    for part in ("oneDNN 3.", "2 of 3 quantized nodes", "5 nodes in all", "1 fused groups"):
        assert part in lines[0]


def test_silent_by_default(model_file: Path) -> None:
    assert "octet" not in log_of(model_file, 2).lower()


@pytest.mark.parametrize("by_environment", [False, True])
def test_verbose_dispatch(model_file: Path, by_environment: bool) -> None:
    if by_environment:
        log = log_of(model_file, 2, environment={"OCTET_VERBOSE": "dispatch"})
    else:
        log = log_of(model_file, 2, "verbose=dispatch")
    lines = [line for line in log.splitlines() if line.startswith("octet: ")]
    assert [line for line in lines if "MatMulIntegerToFloat 'graph_MatMulInteger_1': " in line]
    assert [line for line in lines if "DynamicQuantizeLinear 'graph_DynamicQuantizeLinear_0': " in line]


def test_warmup_of_the_environment_need_not_fit_every_model(model_file: Path) -> None:
    """It is for all sessions of a process: what a model lacks is a warning."""
    log = log_of(model_file, 2, environment={"OCTET_WARMUP": "rows=2,steps=3"})
    (line,) = [line for line in log.splitlines() if "OCTET_WARMUP" in line]
    assert "environment variable OCTET_WARMUP names the dimension 'steps', which the model does not have" in line
    assert "those of its inputs are: rows" in line


def test_warmup_beyond_memory_is_left_to_the_run(rng: np.random.Generator) -> None:
    """Extents whose product is no number of bytes."""
    session = octet_session(product_model(rng), {"warmup": "rows=9223372036854775807"})
    assert session.run(None, feeds(rng))[0].shape == (4, 8)
