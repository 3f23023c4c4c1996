"""A server in processes of its own, which end with the test whatever happens."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType

import psutil
from kinds import EXAMPLES, OF_THE_EXAMPLES, Kind, Setting, encode, free_ports

JSON = {"Content-Type": "application/json"}
START_SECONDS, LOG_SECONDS, STOP_SECONDS = 300, 60, 15


class Server:
    """`folder` becomes what a user has: a copy of the example beside model.onnx and tokenizer.json."""

    def __init__(
        self, name: str, kind: Kind, folder: Path, environment: dict[str, str], setting: Setting = OF_THE_EXAMPLES
    ) -> None:
        for file in [*(EXAMPLES / name).iterdir(), EXAMPLES / "sentence_encoder.py"]:
            if file.is_file():
                shutil.copy(file, folder)
        self.kind = kind
        (self.port,) = free_ports(1)
        self._log = folder / "log"
        self._folder = folder
        launch = kind.launch(folder, self.port, setting)
        # The server ends with the test, even where that is killed.
        self._command = ["setpriv", "--pdeathsig", "TERM", *launch.command]
        self._environment = os.environ | kind.options | setting.environment | launch.environment | environment

    def __enter__(self) -> Server:
        with self._log.open("wb") as log:
            self._process = psutil.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._seen = {psutil.Process(self._process.pid)}
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def find_in_log(self, pattern: re.Pattern[str], count: int) -> None:
        """Workers' lines may come with a delay."""
        end = time.monotonic() + LOG_SECONDS
        while len(pattern.findall(self.log())) < count:
            assert time.monotonic() < end, f"fewer than {count} lines as {pattern.pattern}:\n{self.log()[-8000:]}"
            time.sleep(0.2)

    def get(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, connection: http.client.HTTPConnection, body: bytes) -> dict:
        connection.request("POST", self.kind.path, body, JSON)
        response = connection.getresponse()
        content = response.read()
        assert response.status == 200, f"{response.status}: {content[:2000]!r}"
        return json.loads(content)

    def workers(self, library: str) -> list[psutil.Process]:
        """The server's processes that have loaded `library`."""
        return [process for process in self._processes() if library in _maps(process)]

    def _processes(self) -> list[psutil.Process]:
        """Those seen so far that still run: children outlive parents that fail."""
        for process in list(self._seen):
            try:
                self._seen.update(process.children(recursive=True))
            except psutil.NoSuchProcess:
                self._seen.discard(process)
        return list(self._seen)

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            self._processes()
            if self._process.poll() is not None:
                raise AssertionError(f"the server ended with {self._process.returncode}:\n{self.log()[-8000:]}")
            if self._is_ready():
                return
            time.sleep(0.2)
        raise AssertionError(f"the server is not ready after {START_SECONDS} s:\n{self.log()[-8000:]}")

    def _is_ready(self) -> bool:
        """By its own word, and by an answer: a proxy may be there before what stands behind it."""
        connection = self.connect()
        try:
            if self.get(self.kind.ready) != 200:
                return False
            connection.request("POST", self.kind.path, encode(self.kind.request(["ready", "or not"])), JSON)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _stop(self) -> None:
        """As a user does, by an interrupt; what is left of its processes then is killed."""
        processes = self._processes()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        _, left = psutil.wait_procs(processes, timeout=STOP_SECONDS)
        for process in left:
            process.kill()
        psutil.wait_procs(left, timeout=STOP_SECONDS)
        self._process.wait()


def _maps(process: psutil.Process) -> str:
    try:
        return Path(f"/proc/{process.pid}/maps").read_text()
    except OSError:  # it has ended
        return ""
