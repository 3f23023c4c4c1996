"""The installed package with an onnxruntime that knows nothing of it."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_ep_octet as octet
import pytest
from onnx import TensorProto, helper, numpy_helper


README = Path(__file__).resolve().parents[2] / "README.md"


def product_model() -> onnx.ModelProto:
    weights = np.random.default_rng(5).integers(-128, 128, (64, 32)).astype(np.int8)
    node = helper.make_node("MatMulInteger", ["A", "B"], ["Y"], name="product")
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("A", TensorProto.UINT8, ["m", 64])],
        [helper.make_tensor_value_info("Y", TensorProto.INT32, ["m", 32])],
        [numpy_helper.from_array(weights, "B")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def operand() -> np.ndarray:
    return np.random.default_rng(6).integers(0, 256, (3, 64)).astype(np.uint8)


def expected(model: onnx.ModelProto) -> np.ndarray:
    return operand().astype(np.int32) @ numpy_helper.to_array(model.graph.initializer[0]).astype(np.int32)


def run_python(code: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=environment or None
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_interface_of_the_provider_packages() -> None:
    assert octet.get_ep_name() == "OctetExecutionProvider"
    assert octet.get_ep_names() == [octet.get_ep_name()]
    library = Path(octet.get_library_path())
    assert library.is_file() and library.is_absolute()
    assert (Path(octet.__file__).parent / "py.typed").is_file()
    assert octet.__version__.count(".") == 2


def test_registration_by_hand_as_with_other_providers() -> None:
    code = """
import onnxruntime as ort, onnxruntime_ep_octet as octet
ort.register_execution_provider_library("mine", octet.get_library_path())
assert [d.ep_name for d in ort.get_ep_devices()].count(octet.get_ep_name()) == 1
octet.register()
assert [d.ep_name for d in ort.get_ep_devices()].count(octet.get_ep_name()) == 1
"""
    run_python(code)


def test_registers_once_from_many_threads() -> None:
    threads = [threading.Thread(target=octet.register) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    octet.register()
    assert [device.ep_name for device in ort.get_ep_devices()].count(octet.get_ep_name()) == 1


@pytest.mark.parametrize("form", ["path", "text", "bytes", "proto"])
def test_session_runs_on_octet(form: str, tmp_path: Path) -> None:
    model, path, report = product_model(), tmp_path / "model.onnx", tmp_path / "report.json"
    onnx.save(model, path)
    source = {"path": path, "text": str(path), "bytes": model.SerializeToString(), "proto": model}[form]
    session = octet.session(source, min_coverage=1, threads=1, report=report)
    assert octet.get_ep_name() in session.get_providers()
    (y,) = session.run(None, {"A": operand()})
    assert np.array_equal(y, expected(model))
    del session
    counters = json.loads(report.read_text())
    assert [(o["op_type"], o["runs"]) for o in counters["operators"]] == [("MatMulInteger", 1)]
    assert counters["version"] == octet.__version__


def test_session_takes_options_of_onnxruntime() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = octet.session(product_model(), session_options=options, backend="eigen")
    assert np.array_equal(session.run(None, {"A": operand()})[0], expected(product_model()))


def test_none_is_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    octet.session(product_model(), report=None, warmup=None)
    assert list(tmp_path.iterdir()) == []


def test_nothing_falls_back_silently(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="backend.*cuda"):
        octet.session(product_model(), backend="cuda")
    with pytest.raises(Exception, match="colour"):
        octet.session(product_model(), colour="blue")
    with pytest.raises(Exception, match="absent.onnx"):
        octet.session(tmp_path / "absent.onnx")


@pytest.mark.parametrize(
    ("package", "call", "hint"),
    [
        ("onnxruntime", "session('model.onnx')", "onnxruntime 1.24 or newer"),
        ("onnx", "register_onnx_schemas()", "[onnx]"),
    ],
)
def test_a_missing_package_is_named(package: str, call: str, hint: str) -> None:
    code = f"""
import sys
sys.modules["{package}"] = None
import onnxruntime_ep_octet as octet
try:
    octet.{call}
except ImportError as error:
    print(error)
"""
    assert hint in run_python(code)


def test_an_old_onnxruntime_is_named(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text("__version__ = '1.20.0'")
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import onnxruntime_ep_octet as octet
try:
    octet.register()
except ImportError as error:
    print(error)
"""
    assert "1.24 or newer, but 1.20.0" in run_python(code, str(tmp_path))


def test_another_onednn_in_the_process(tmp_path: Path) -> None:
    """A libdnnl.so.3 without any function: whoever took it for ours could not even be loaded."""
    other = tmp_path / "libdnnl.so.3"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", other, "-Wl,-soname,libdnnl.so.3"]
    subprocess.run(command, input="int octet_test_other_onednn = 1;", text=True, check=True)
    model = tmp_path / "model.onnx"
    onnx.save(product_model(), model)
    code = """
import ctypes, sys
other = ctypes.CDLL(sys.argv[1])
import numpy as np, onnxruntime_ep_octet as octet
session = octet.session(sys.argv[2], min_coverage=1)
print(session.run(None, {"A": np.full((2, 64), 255, np.uint8)})[0].sum())
maps = open("/proc/self/maps").read()
assert sys.argv[1] in maps and "libdnnl-" in maps
"""
    weights = numpy_helper.to_array(product_model().graph.initializer[0])
    assert int(run_python(code, str(other), str(model))) == 2 * 255 * int(weights.astype(np.int64).sum())


def test_works_without_onnx(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(product_model(), model)
    code = """
import sys
sys.modules["onnx"] = None
import onnxruntime_ep_octet as octet
octet.session(sys.argv[1], min_coverage=1)
"""
    run_python(code, str(model))


@pytest.mark.parametrize("index", [0, 1])
def test_quick_starts_of_the_readme(index: int, tmp_path: Path) -> None:
    fragments = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.S | re.M)
    assert len(fragments) == 2
    onnx.save(product_model(), tmp_path / "model.int8.onnx")
    code = fragments[index].replace("build/release/libonnxruntime_ep_octet.so", octet.get_library_path())
    code += "\nassert session.get_providers()[0] == 'OctetExecutionProvider'"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_the_readme_has_all_options_and_their_defaults() -> None:
    """As the plugin knows them; a session takes each default that is a value."""
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \| `(\w+)` \|$", README.read_text(), re.M)
    with pytest.raises(Exception, match="known are ") as failure:
        octet.session(product_model(), colour="blue")
    known = re.search(r"known are ([\w, ]+)", str(failure.value))[1].split(", ")  # type: ignore[index]
    assert sorted(name for name, _, _ in rows) == sorted(known)
    assert all(variable == f"OCTET_{name.upper()}" for name, _, variable in rows)
    defaults = {name: value[1] for name, text, _ in rows if (value := re.match("`(\\w+)`", text))}
    assert set(known) - set(defaults) == {"report", "warmup"}
    octet.session(product_model(), **defaults)
    (listed,) = re.findall(r"are the provider's: ([\w,\s]+) \(README", octet.session.__doc__ or "")
    assert set(re.findall(r"\w+", listed)) == set(known)
