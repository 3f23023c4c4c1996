"""A server of examples/servers, started for real: what it answers, on whose kernels, and how it bears load."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from kinds import EXAMPLES, OF_THE_EXAMPLES, Kind, Setting
from load import CLIENTS, Question, ask_each_once, ask_for
from server import Server

LOAD_SECONDS = float(os.environ.get("OCTET_SERVER_SECONDS", "10"))
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


@dataclass(frozen=True)
class Load:
    """Of one server with one setting: seconds of each request, and of the workers' CPU; memory before and what came."""

    seconds: np.ndarray
    duration: float
    cpu: float
    memory: list[int]
    growth: list[int]

    @property
    def throughput(self) -> float:
        return len(self.seconds) / self.duration

    def __str__(self) -> str:
        memory = " ".join(f"{b / 1e6:.0f}{more / 1e6:+.1f}" for b, more in zip(self.memory, self.growth, strict=True))
        return (
            f"{self.throughput:.1f} requests/s, p95 {np.percentile(self.seconds, 95) * 1e3:.0f} ms,"
            f" {self.cpu / len(self.seconds) * 1e3:.1f} ms of CPU in the workers each; memory of a worker {memory} MB"
        )


def bear_load(server: Server, questions: list[Question], duration: float) -> Load:
    # The longest first, so that what comes later does not need more memory.
    ask_each_once(server, 8 * sorted(questions, key=lambda question: len(question.sentences))[-8:])
    workers = server.workers(ONNXRUNTIME)
    memory = [worker.memory_info().rss for worker in workers]
    cpu = sum(sum(worker.cpu_times()[:2]) for worker in workers)
    seconds = ask_for(server, questions, duration)
    cpu = sum(sum(worker.cpu_times()[:2]) for worker in workers) - cpu
    growth = [worker.memory_info().rss - before for worker, before in zip(workers, memory, strict=True)]
    return Load(seconds, duration, cpu, memory, growth)


def test_load(
    name: str,
    kind: Kind,
    new_folder: Callable[[], Path],
    offline: Offline,
    rng: np.random.Generator,
    words: list[str],
) -> None:
    """Octet and onnxruntime's own kernels, each with the setting that is the best for it."""
    batches = draw_batches(rng, words)

    def bears(provider: str, setting: Setting, duration: float) -> Load:
        expected = offline(setting, batches) if provider == "octet" else [None] * len(batches)
        questions = list(map(Question, batches, expected))
        with Server(name, kind, new_folder(), {"PROVIDER": provider}, setting) as server:
            load = bear_load(server, questions, duration)
            assert len(server.workers(PLUGIN)) == (setting.workers if provider == "octet" else 0)
        print(f"\n{name} {provider}, {setting}, {duration:.0f} s: {load}", flush=True)
        return load

    settings = settings_to_try()
    best: dict[str, tuple[Setting, Load]] = {}
    for provider in ("octet", "cpu"):
        tried = [bears(provider, setting, CHOICE_SECONDS).throughput for setting in settings]
        setting = settings[int(np.argmax(tried))]
        best[provider] = setting, bears(provider, setting, LOAD_SECONDS)
    (octet_setting, octet), (cpu_setting, cpu) = best["octet"], best["cpu"]
    print(
        f"\n{name}: best for Octet {octet_setting}, for onnxruntime's kernels {cpu_setting}; there Octet answers"
        f" {octet.throughput / cpu.throughput:.2f} times as many requests"
    )
    assert max(octet.growth + cpu.growth) < GROWTH
