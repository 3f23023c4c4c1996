"""The process in which sessions live."""

import os
import signal
import sys
import time
from collections.abc import Iterator

import pytest
from onnxruntime_ep_octet.compare.models import CannotRun
from onnxruntime_ep_octet.compare.worker import Ended, Fault, Worker, at_work


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def worker(told: list[str]) -> Iterator[Worker]:
    with Worker(told.append) as process:
        yield process


def identity() -> tuple[int, str | None]:
    return os.getpid(), os.environ.get("OCTET_TEST")


def ends(side: str, by: int) -> None:
    at_work(side)
    os.write(2, b"first line\nlast line\n")
    if by:
        os.kill(os.getpid(), by)
    os._exit(7)


def hangs() -> None:
    at_work("onnxruntime", "hanging")
    time.sleep(600)


def refuses() -> None:
    raise CannotRun("no such model")


def fails() -> None:
    raise ZeroDivisionError("a fault")


def warns() -> None:
    print("a warning", file=sys.stderr, flush=True)


def test_is_another_process_that_lives_on(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTET_TEST", "here")
    first, second = worker.call(identity), worker.call(identity)
    assert first == second and first[0] != os.getpid() and first[1] == "here"


@pytest.mark.parametrize("side", ["octet", "onnxruntime"])
@pytest.mark.parametrize(
    ("by", "how"), [(signal.SIGSEGV, "by SIGSEGV"), (signal.SIGABRT, "by SIGABRT"), (0, "with status 7")]
)
def test_tells_who_ended_it_and_goes_on(
    worker: Worker, capfd: pytest.CaptureFixture[str], side: str, by: int, how: str
) -> None:
    with pytest.raises(Ended, match=f"{side} ended the process {how}: last line") as end:
        worker.call(ends, side, by)
    assert end.value.side == side
    assert worker.call(identity)[0] != os.getpid()
    assert capfd.readouterr().err == ""


def test_does_not_wait_for_ever(worker: Worker, told: list[str]) -> None:
    with pytest.raises(Ended, match="onnxruntime gave no answer within 2 s"):
        worker.call(hangs, seconds=2)
    assert told == ["hanging"]
    assert worker.call(identity)[0] != os.getpid()


def test_passes_on_what_it_raises_and_writes(worker: Worker, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CannotRun, match="no such model"):
        worker.call(refuses)
    with pytest.raises(Fault, match="ZeroDivisionError: a fault"):
        worker.call(fails)
    assert "in fails" in capfd.readouterr().err
    worker.call(warns)
    assert capfd.readouterr().err == "a warning\n"
