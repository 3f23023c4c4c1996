"""Work in a process of its own: what breaks that process does not break the program.

onnxruntime's kernels end the process for some models (LSTM of an empty batch, some left out inputs), so that every
session of a comparison lives in such a process.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.util import get_temp_dir
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from .models import BadArgument, CannotRun

_ENDING = 10.0  # seconds until a process that was told to end is taken for dead

# What ends the program, which then ends its process.
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Of the process that works; None in the program itself.
_program: Connection | None = None


class Fault(Exception):
    """The function raised what it should not have; the traceback is on stderr."""


class Ended(Exception):
    """The process ended, or was ended, instead of answering. `side` was at work."""

    def __init__(self, side: str, how: str) -> None:
        super().__init__(f"{side} {how}")
        self.side = side


def at_work(side: str, doing: str = "") -> None:
    """Tells the program who is to blame if this process ends now, and what to show as progress ("" changes nothing)."""
    if _program is not None:
        _program.send(("at", (side, doing)))


class Worker:
    """Runs one function after the other, in one process as long as that lives. `progress` gets what at_work() tells."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._context = multiprocessing.get_context("forkserver")
        # The process that the others are made from: it has imported all, and has no session.
        self._context.set_forkserver_preload([f"{__package__}.program"])
        self._process: Any = None
        self._connection: Connection
        self._folder: tempfile.TemporaryDirectory[str]
        self._errors: IO[str]

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float = math.inf) -> Any:
        """What the function returns, or raises of BadArgument, CannotRun and Fault; Ended where there is no answer, or
        none within `seconds`."""
        if self._process is None:
            with _interrupts_held_back():  # a process that is half made could not be ended
                self._start()
        self._connection.send((function, arguments))
        side, last = "the process", time.monotonic() + seconds
        while True:
            if not self._connection.poll(None if math.isinf(last) else max(0.0, last - time.monotonic())):
                self.stop()
                raise Ended(side, f"gave no answer within {seconds:.0f} s")
            try:
                kind, content = self._connection.recv()
            except (EOFError, ConnectionError):
                raise Ended(side, self._how_it_ended()) from None
            if kind == "at":
                side, doing = content
                if doing:
                    self._progress(doing)
                continue
            self._pass_errors_on()
            if kind == "raised":
                raise content
            return content

    def stop(self) -> None:
        if self._process is None:
            return
        if self._process.is_alive():
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has not made its group yet
                self._process.kill()
        self._process.join()
        self._process = None
        self._connection.close()
        self._errors.close()
        self._folder.cleanup()

    def _start(self) -> None:
        self._connection, other = self._context.Pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="octet-compare-")
        errors = Path(self._folder.name, "stderr")
        errors.touch()
        self._errors = errors.open(errors="replace")
        arguments = (other, self._folder.name, get_temp_dir(), dict(os.environ))
        self._process = self._context.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        other.close()

    def _how_it_ended(self) -> str:
        self._process.join(_ENDING)
        status, lines = self._process.exitcode, self._errors.read().strip().splitlines()
        self.stop()
        if status is None or status >= 0:
            how = f"ended the process with status {status}"
        else:
            how = f"ended the process by {signal.Signals(-status).name}"
        return f"{how}: {lines[-1]}" if lines else how

    def _pass_errors_on(self) -> None:
        """What the process wrote to its stderr; that of one that ends is the reason why."""
        if text := self._errors.read():
            sys.stderr.write(text)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in INTERRUPTS}
    heard = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in heard:
        signal.signal(number, lambda which, _: came.append(which))
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
    for one in came:
        signal.raise_signal(one)


def _work(program: Connection, folder: str, folder_of_servers: str, environment: dict[str, str]) -> None:
    global _program
    _program = program
    tempfile.tempdir = folder
    os.setpgid(0, 0)  # with those that it starts, which end with it; and no interrupt of a terminal comes here
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(Path(folder, "stderr"), os.O_WRONLY | os.O_APPEND), 2)
    watch = threading.Thread(target=_end_with, args=(program, folder, folder_of_servers), daemon=True)
    watch.start()
    try:
        while True:
            function, arguments = program.recv()
            program.send(_answer(function, arguments))
    except (EOFError, ConnectionError):  # the program is gone
        watch.join()


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return "done", function(*arguments)
    except (BadArgument, CannotRun) as error:
        return "raised", error
    except Exception as error:
        traceback.print_exc()
        return "raised", Fault("".join(traceback.format_exception_only(error)).strip())


def _end_with(program: Connection, *folders: str) -> None:
    """Waits for the end of a program that was killed, which could not tidy up, and does so in its place."""
    hang_up = select.poll()
    hang_up.register(program, 0)
    hang_up.poll()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)
