"""A server of examples/servers, started for real: what it answers, on whose kernels, and how it bears load."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from kinds import EXAMPLES, OF_THE_EXAMPLES, Kind, Setting
from load import CLIENTS, Question, ask_each_once, ask_for
from server import Server

LOAD_SECONDS = float(os.environ.get("OCTET_SERVER_SECONDS", "10"))
TURN_SECONDS = 5.0  # of one provider, then of the other: a machine's speed drifts
CHOICE_SECONDS = min(6.0, LOAD_SECONDS)  # under load with each setting, to choose the best
PLUGIN, ONNXRUNTIME = "libonnxruntime_ep_octet.so", "onnxruntime_pybind11_state"
SESSION_LINE = re.compile(r"Octet \d[\d.]* \(\S+, oneDNN [\d.]+\) runs (\d+) of \1 quantized nodes")
GROWTH = 32e6  # bytes of a worker under load: what onnxruntime's arena takes once for batches as they come

Offline = Callable[[Setting, list[list[str]]], list[np.ndarray]]


def settings_to_try() -> list[Setting]:
    """The ways of using the cores that the clients can keep busy: a worker for each, or one worker whose threads wait
    asleep or awake."""
    cores = min(CLIENTS, len(os.sched_getaffinity(0)))
    one_worker = [Setting(1, cores), Setting(1, cores, spinning=True)] if cores > 1 else []
    return [Setting(cores, 1), *one_worker]


def draw_sentences(rng: np.random.Generator, words: list[str]) -> list[str]:
    """At least two: onnxruntime sums over the tokens of a single sentence in another order."""
    return [" ".join(rng.choice(words, rng.integers(1, 25))) for _ in range(rng.integers(2, 7))]


def draw_batches(rng: np.random.Generator, words: list[str]) -> list[list[str]]:
    return [draw_sentences(rng, words) for _ in range(64)]


@pytest.fixture
def offline(kind: Kind, new_folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> Offline:
    """The same model with the same options in this process."""
    from sentence_encoder import SentenceEncoder

    def embeddings(setting: Setting, batches: list[list[str]]) -> list[np.ndarray]:
        for variable, value in (kind.options | setting.environment).items():
            monkeypatch.setenv(variable, value)
        encoder = SentenceEncoder(new_folder(), kind.length)
        return [encoder.encode(batch) for batch in batches]

    return embeddings


def test_requirements_are_those_of_the_environment(name: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "-r"]
    done = subprocess.run([*command, EXAMPLES / name / "requirements.txt"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Would install" not in done.stdout, done.stdout + done.stderr


def test_embeddings_are_those_of_an_offline_run(
    name: str,
    kind: Kind,
    new_folder: Callable[[], Path],
    offline: Offline,
    rng: np.random.Generator,
    words: list[str],
) -> None:
    batches = draw_batches(rng, words)
    questions = list(map(Question, batches, offline(OF_THE_EXAMPLES, batches)))
    with Server(name, kind, new_folder(), {"ORT_LOG_LEVEL": "1"}) as server:
        ask_each_once(server, questions)
        workers = server.workers(PLUGIN)
        assert len(workers) == OF_THE_EXAMPLES.workers
        server.find_in_log(SESSION_LINE, count=OF_THE_EXAMPLES.workers)
    assert not any(worker.is_running() for worker in workers)


class Load:
    """What a server did with `questions`, in one turn or several."""

    def __init__(self, server: Server, questions: list[Question]) -> None:
        self._server, self._questions = server, questions
        self._seconds: list[np.ndarray] = []  # of each request
        self._duration = self._cpu = 0.0  # the latter in the workers
        # The longest first, so that what comes later does not need more memory.
        ask_each_once(server, 8 * sorted(questions, key=lambda question: len(question.sentences))[-8:])
        self.workers = server.workers(ONNXRUNTIME)
        self._memory = [worker.memory_info().rss for worker in self.workers]

    def bear(self, duration: float) -> None:
        cpu = self._cpu_seconds()
        self._seconds.append(ask_for(self._server, self._questions, duration))
        self._cpu += self._cpu_seconds() - cpu
        self._duration += duration

    @property
    def throughput(self) -> float:
        return sum(map(len, self._seconds)) / self._duration

    @property
    def growth(self) -> list[int]:
        return [
            worker.memory_info().rss - before for worker, before in zip(self.workers, self._memory, strict=True)
        ]

    def __str__(self) -> str:
        seconds = np.concatenate(self._seconds)
        memory = " ".join(f"{b / 1e6:.0f}{more / 1e6:+.1f}" for b, more in zip(self._memory, self.growth, strict=True))
        return (
            f"{self._duration:.0f} s: {self.throughput:.1f} requests/s, p95 {np.percentile(seconds, 95) * 1e3:.0f} ms,"
            f" {self._cpu / len(seconds) * 1e3:.1f} ms of CPU in the workers each; memory of a worker {memory} MB"
        )

    def _cpu_seconds(self) -> float:
        return sum(sum(worker.cpu_times()[:2]) for worker in self.workers)


def test_load(
    name: str,
    kind: Kind,
    new_folder: Callable[[], Path],
    offline: Offline,
    rng: np.random.Generator,
    words: list[str],
) -> None:
    """Octet and onnxruntime's own kernels, each with the setting that is the best for it, in turns."""
    batches = draw_batches(rng, words)
    settings = settings_to_try()

    @contextmanager
    def loaded(provider: str, setting: Setting) -> Iterator[Load]:
        expected = offline(setting, batches) if provider == "octet" else [None] * len(batches)
        with Server(name, kind, new_folder(), {"PROVIDER": provider}, setting) as server:
            load = Load(server, list(map(Question, batches, expected)))
            yield load
            print(f"\n{name} {provider}, {setting}, {load}", flush=True)
            assert len(server.workers(PLUGIN)) == (setting.workers if provider == "octet" else 0)

    def best_setting(provider: str) -> Setting:
        throughput = []
        for setting in settings:
            with loaded(provider, setting) as load:
                load.bear(CHOICE_SECONDS)
            throughput.append(load.throughput)
        return settings[int(np.argmax(throughput))]

    best = {provider: best_setting(provider) for provider in ("octet", "cpu")}
    with loaded("octet", best["octet"]) as octet, loaded("cpu", best["cpu"]) as cpu:
        for _ in range(math.ceil(LOAD_SECONDS / TURN_SECONDS)):
            octet.bear(min(TURN_SECONDS, LOAD_SECONDS))
            cpu.bear(min(TURN_SECONDS, LOAD_SECONDS))
        assert max(octet.growth + cpu.growth) < GROWTH
    print(
        f"\n{name}: best for Octet {best['octet']}, for onnxruntime's kernels {best['cpu']}; there Octet answers"
        f" {octet.throughput / cpu.throughput:.2f} times as many requests"
    )
