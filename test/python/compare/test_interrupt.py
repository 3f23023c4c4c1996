"""What an octet-compare that is interrupted, killed or out of time leaves behind: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Compare, save
from onnx import TensorProto, helper
from onnxruntime_ep_octet.compare.worker import Ended, Worker


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A loop that onnxruntime is never done with."""
    scalar = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("i", 7), ("go", 9), ("a", 7), ("b", 7))]
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["a", "i"], ["b"])],
        "body",
        scalar[:3],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), scalar[3]],
    )
    node = helper.make_node("Loop", ["times", "go_on", "x"], ["y"], body=body)
    constants = {"times": np.int64(2**62), "go_on": np.bool_(True)}
    ports = [helper.make_tensor_value_info(name, TensorProto.INT64, []) for name in ("x", "y")]
    return save(tmp_path / "endless.onnx", [node], ports[:1], ports[1:], constants)


def wait_until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def processes_of(folder: Path) -> list[int]:
    """Those whose temporary files are in `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:  # another user's, or it has ended
            pass
    return found


def is_computing(process: int) -> bool:
    """It is the one whose stderr is a file, and has taken half a second of the CPU."""
    try:
        ticks = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11]
        return os.readlink(f"/proc/{process}/fd/2").endswith("/stderr") and int(ticks) > os.sysconf("SC_CLK_TCK") // 2
    except OSError:  # it has ended
        return False


def start(model: Path, folder: Path, number: int = signal.SIGTERM) -> "subprocess.Popen[str]":
    """With temporary files in `folder`; it is heard of the signal, whatever this process does with it."""
    folder.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "onnxruntime_ep_octet.compare", model, "--no-judge"],
        env=os.environ | {"TMPDIR": str(folder)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL) and None,
    )  # fmt: skip


def left_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} - {".ses"}  # onnxruntime's own


@pytest.mark.parametrize("at_work", [False, True])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_leaves_no_process_and_no_file(
    endless: Path, tmp_path: Path, number: signal.Signals, at_work: bool
) -> None:
    folder = tmp_path / "temporary"
    process = start(endless, folder, number)
    wait_until(lambda: list(folder.glob("octet-compare-*")))
    assert process.pid in processes_of(folder)
    if at_work:
        wait_until(lambda: any(is_computing(other) for other in processes_of(folder)))
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (2, "octet-compare: interrupted\n")
    assert left_in(folder) == set()
    wait_until(lambda: not processes_of(folder))


def test_nor_does_one_that_is_killed(endless: Path, tmp_path: Path) -> None:
    """Its process sees that nobody is left to tidy up."""
    folder = tmp_path / "temporary"
    process = start(endless, folder)
    wait_until(lambda: any(is_computing(other) for other in processes_of(folder)))
    assert left_in(folder) != set()
    process.kill()
    process.communicate(timeout=60)
    wait_until(lambda: not processes_of(folder))
    assert left_in(folder) == set()


def test_a_time_limit_ends_what_would_go_on(compare: Compare, endless: Path, product: Path) -> None:
    status, report = compare(endless, product, "--no-judge", "--time-limit", "5")
    assert (status, report["status"]) == (2, "could not run")
    (cut,), (unreached,) = (model["problems"] for model in report["models"])
    assert cut.startswith("endless.onnx: not done within the time limit: ")
    assert unreached == "product.onnx: not reached within the time limit"


def starts_another(file: Path) -> None:
    code = f"import os, time; open({str(file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_the_process_has_started_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with Worker(lambda doing: None) as worker, pytest.raises(Ended, match="no answer"):
        worker.call(starts_another, file, seconds=5)
    wait_until(lambda: not Path("/proc", file.read_text()).exists())
