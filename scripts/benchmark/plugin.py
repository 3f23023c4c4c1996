"""Octet's plugin against onnxruntime's CPU provider: two sessions of one model that take turns."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import (
    NotImplemented as NotImplementedByOnnxruntime,
)

from ..models import minilm
from ..side_by_side import CPU, OCTET, open_session, register_octet
from . import elementwise, inner_product, recurrent
from .cases import CLIENTS, NEIGHBOUR, Case, Encoder, InnerProduct, Product, Quantize
from .chains import floor_model, nodes_of_unit, number_of_units, product_model, quantize_model
from .elementwise import Elementwise, elementwise_model
from .graph import NODES, random_integers
from .recurrent import Recurrent, Training, recurrent_model

TURN_US = 300  # of one session: what the clock and the Python call cost does not count
# Turns of each session at least, by the microseconds of a turn of all: no case takes minutes.
LEAST_TURNS = ((500_000, 5), (2_000_000, 2), (float("inf"), 1))
WARM_UP_BELOW_US = 20_000  # a longer run heats its own caches
SECOND_WARM_UP_BELOW_US = 1_000_000
WHOLE_MODEL_SECONDS = 2.0

Run = Callable[[], object]


class Buffers:
    """What the sessions of one model read and write, allocated once for the largest M."""

    def __init__(self, case: Case, m: int, copies: int) -> None:
        if isinstance(case, Product):
            self.a = sample(case.a, (m, case.k))
            self.y = np.zeros((m, case.n), numpy_type(case.y))
            shape = (case.k, case.n)
            runtime = case.weights == "runtime"
            self.b = [random_integers(case.b, shape, c) for c in range(copies) if runtime]
        else:
            quantizes = case.operator != "DequantizeLinear"
            types = ("float", case.integer) if quantizes else (case.integer, "float")
            self.a = sample(types[0], (m, case.columns))
            self.y = np.zeros((m, case.columns), numpy_type(types[1]))
            self.b = []
        self.first_y = self.y.copy()  # of the first node: what the sessions are compared by

    def bind(self, session: ort.InferenceSession, m: int) -> ort.IOBinding:
        binding = session.io_binding()
        for value in session.get_inputs():
            if value.name.startswith("B"):
                bind(binding.bind_input, value.name, self.b[int(value.name[1:])])
            else:
                bind(binding.bind_input, value.name, self.a[:m])
        for value in session.get_outputs():
            y = self.first_y if value.name == "Y0" else self.y
            bind(binding.bind_output, value.name, y[:m])
        return binding


def bind(method: Callable[..., None], name: str, array: np.ndarray) -> None:
    method(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)


def numpy_type(element: str) -> np.dtype:
    return np.dtype("float32" if element == "float" else element)


def sample(element: str, shape: tuple) -> np.ndarray:
    if element == "float":
        return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
    return random_integers(element, shape, 1)


def open_chain(model: bytes, provider: str, threads: int, nodes: int) -> ort.InferenceSession:
    """All nodes run on the provider, and none is dropped or fused, or this fails."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    # The pool of the session whose turn it is not must not keep a core busy.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if provider == OCTET:
        device = next(d for d in ort.get_ep_devices() if d.ep_name == OCTET)
        options.add_provider_for_devices([device], {})
    providers = [CPU] if provider == CPU else None
    session = ort.InferenceSession(model, options, providers=providers, enable_fallback=False)
    assigned = session.get_provider_graph_assignment_info()
    found = sum(len(part.get_nodes()) for part in assigned if part.ep_name == provider)
    if found != nodes:
        raise RuntimeError(f"{found} of {nodes} nodes run on {provider}")
    return session


class Turns:
    """One session's times, in microseconds of a unit: most often a node."""

    def __init__(self, run: Run, units: int, threads: int) -> None:
        self._run, self._units = run, units
        # With one thread, processor time is the time that passes on a quiet machine, and on a busy
        # one leaves out what other processes take.
        self._clock = time.process_time_ns if threads == 1 else time.perf_counter_ns
        self.times: list[float] = []
        self.run_us = self.timed(1)
        if self.run_us < SECOND_WARM_UP_BELOW_US:
            self._run()
            self.run_us = self.timed(1)
        self.runs = max(1, int(TURN_US / self.run_us))

    def timed(self, runs: int) -> float:
        """Microseconds of a run."""
        run, clock = self._run, self._clock
        start = clock()
        for _ in range(runs):
            run()
        return (clock() - start) / 1e3 / runs

    def take(self) -> None:
        if self.run_us < WARM_UP_BELOW_US:
            self._run()
        self.times.append(self.timed(self.runs) / self._units)

    def result(self) -> dict[str, float]:
        return {"median_us": float(np.median(self.times)), "min_us": min(self.times)}


def interleave(sessions: list[Turns], seconds: float) -> None:
    order, turn, start = list(sessions), 0, time.perf_counter()
    turn_us = sum(s.run_us for s in sessions)
    least = next(turns for limit, turns in LEAST_TURNS if turn_us <= limit)
    while turn < least or time.perf_counter() - start < seconds:
        for session in order:
            session.take()
        order.reverse()
        turn += 1


def floor() -> float:
    """Microseconds that onnxruntime's executor takes for a node."""
    session = open_chain(floor_model(), CPU, 1, NODES)
    binding = session.io_binding()
    x, y = np.zeros(1, np.float32), np.zeros(1, np.float32)
    bind(binding.bind_input, "X", x)
    for value in session.get_outputs():
        bind(binding.bind_output, value.name, y)
    turns = Turns(partial(session.run_with_iobinding, binding), NODES, 1)
    interleave([turns], 0.1)
    return min(turns.times)


class Chain:
    """The sessions of one model of equal nodes, for cases that differ in their rows only."""

    def __init__(self, cases: list[Case], copies: int) -> None:
        case = cases[0]
        is_product = isinstance(case, Product)
        model = product_model(case, copies) if is_product else quantize_model(case)
        self._threads, self._units = case.threads, number_of_units(copies)
        self._nodes = self._units * nodes_of_unit(case)
        self._sessions = {"octet": self._open(model, OCTET)}
        try:
            self._sessions["onnxruntime"] = self._open(model, CPU)
        except NotImplementedByOnnxruntime:
            pass  # not every combination of types has a kernel there
        self._buffers = Buffers(case, max(rows_of(c) for c in cases), copies)

    def _open(self, model: bytes, provider: str) -> ort.InferenceSession:
        return open_chain(model, provider, self._threads, self._nodes)

    def measure(self, case: Case, seconds: float) -> dict:
        rows, turns, results = rows_of(case), {}, []
        for name, session in self._sessions.items():
            binding = self._buffers.bind(session, rows)
            run = partial(session.run_with_iobinding, binding)
            turns[name] = Turns(run, self._units, self._threads)
            results.append(self._buffers.first_y[:rows].copy())
        row = compare(turns, seconds)
        if len(results) == 2:
            row["differing"] = count_differing(*results)
        return row


class Nodes:
    """The sessions of a model of equal nodes, with all extents fixed."""

    def __init__(self, case: Elementwise | Recurrent) -> None:
        self._units = case.nodes if isinstance(case, Recurrent) else NODES
        if isinstance(case, Recurrent):
            model, self._arrays = recurrent_model(case), recurrent.arrays(case)
        else:
            model, self._arrays = elementwise_model(case), elementwise.arrays(case)
        self._sessions = {
            name: open_chain(model, provider, case.threads, self._units)
            for name, provider in (("octet", OCTET), ("onnxruntime", CPU))
        }

    def measure(self, case: Elementwise | Recurrent, seconds: float) -> dict:
        turns, results = {}, []
        shape = next(iter(self._sessions.values())).get_outputs()[0].shape
        element = case.integer if isinstance(case, Elementwise) else "float"
        others = np.zeros(shape, numpy_type(element))
        for name, session in self._sessions.items():
            first = np.zeros_like(others)
            binding = session.io_binding()
            for key, array in self._arrays.items():
                bind(binding.bind_input, key, array)
            for value in session.get_outputs():
                bind(binding.bind_output, value.name, first if value.name == "Y0" else others)
            run = partial(session.run_with_iobinding, binding)
            turns[name] = Turns(run, self._units, case.threads)
            results.append(first)
        row = compare(turns, seconds)
        if isinstance(case, Elementwise):
            row["differing"] = count_differing(*results)
        return row


class WholeModel:
    """The sessions of a real model."""

    def __init__(self, cases: list[Encoder]) -> None:
        self._threads = cases[0].threads
        path = minilm.model(cases[0].recipe)
        self._sessions = {
            name: open_session(path, provider, threads=self._threads)
            for name, provider in (("octet", OCTET), ("onnxruntime", CPU))
        }

    def measure(self, case: Encoder, seconds: float) -> dict:
        shape = (case.batch, case.tokens)
        tokens = np.random.default_rng(1).integers(1000, 30000, shape, np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones(shape, np.int64)}
        runs = {name: partial(s.run, None, inputs) for name, s in self._sessions.items()}
        with beside(case, runs) as runs:
            # What runs beside it takes processor time of its own: the time that passes counts.
            clock_threads = 2 if case.beside else case.threads
            turns = {name: Turns(run, 1, clock_threads) for name, run in runs.items()}
            return compare(turns, max(seconds, WHOLE_MODEL_SECONDS))


@contextmanager
def beside(case: Encoder, runs: dict[str, Run]) -> Iterator[dict[str, Run]]:
    """The runs as they are with what the case wants beside them."""
    if case.beside == CLIENTS:
        with ThreadPoolExecutor(2) as clients:
            yield {name: partial(run_twice, clients, run) for name, run in runs.items()}
    elif case.beside == NEIGHBOUR:
        neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            yield runs
        finally:
            neighbour.kill()
            neighbour.wait()
    else:
        yield runs


def run_twice(clients: ThreadPoolExecutor, run: Run) -> None:
    """Two clients at a time; a time is that of both runs."""
    wait([clients.submit(run), clients.submit(run)])


def compare(turns: dict[str, Turns], seconds: float) -> dict:
    interleave(list(turns.values()), seconds)
    row: dict = {name: session.result() for name, session in turns.items()}
    if "onnxruntime" in turns:
        pairs = zip(turns["onnxruntime"].times, turns["octet"].times, strict=True)
        row["ratio"] = float(np.median([cpu / octet for cpu, octet in pairs]))
    return row


def count_differing(left: np.ndarray, right: np.ndarray) -> int:
    """Floats may differ in their last bits."""
    if left.dtype == np.float32:
        return int(np.sum(~np.isclose(left, right, rtol=1e-5, atol=1e-5)))
    return int(np.sum(left != right))


def rows_of(case: Product | Quantize) -> int:
    return case.m if isinstance(case, Product) else case.rows


class InnerProducts:
    """onnxruntime's DynamicQuantizeMatMul, and the same products by octet_dqip_forward()."""

    def __init__(self, cases: list[InnerProduct], library: Path) -> None:
        case, rows = cases[0], max(c.m for c in cases)
        self._product = inner_product.as_operator(case, rows)
        self._session = open_chain(product_model(self._product, 1), CPU, case.threads, NODES)
        self._buffers = Buffers(self._product, rows, 1)
        self._calls = inner_product.Calls(library.parent / "liboctet.so", self._product)

    def measure(self, case: InnerProduct, seconds: float) -> dict:
        binding = self._buffers.bind(self._session, case.m)
        runs = {
            "octet": partial(self._calls.run, case.m, NODES),
            "onnxruntime": partial(self._session.run_with_iobinding, binding),
        }
        turns = {name: Turns(run, NODES, case.threads) for name, run in runs.items()}
        return compare(turns, seconds)


def is_compared(case: Case) -> bool:
    """onnxruntime has kernels for these."""
    if isinstance(case, InnerProduct):
        return (case.type, case.weights) == ("float", "constant")
    return not isinstance(case, Training) and case.operator not in elementwise.NATIVE_ONLY


def model_of(case: Case) -> Case:
    """Equal for cases that one model serves."""
    if isinstance(case, (Elementwise, Recurrent)):
        return case
    if isinstance(case, (Product, InnerProduct)):
        return replace(case, m=0)
    if isinstance(case, Quantize):
        return replace(case, rows=0)
    return replace(case, batch=0, tokens=0, beside="")


def measure(
    cases: list[Case], copies_of: Callable[[Case], int], library: Path, seconds: float
) -> Iterator[tuple[Case, dict]]:
    ort.set_default_logger_severity(3)
    register_octet(library)
    for _, group in groupby(sorted(cases, key=lambda c: repr(model_of(c))), key=model_of):
        served = list(group)
        try:
            if isinstance(served[0], Encoder):
                model = WholeModel(served)
            elif isinstance(served[0], (Elementwise, Recurrent)):
                model = Nodes(served[0])
            elif isinstance(served[0], InnerProduct):
                model = InnerProducts(served, library)
            else:
                model = Chain(served, copies_of(served[0]))
            for case in served:
                yield case, model.measure(case, seconds)
        except Exception as error:  # one model that fails does not end the benchmark
            print(f"bench: {served[0].name}: {error}", file=sys.stderr, flush=True)
            for case in served:
                yield case, {"error": str(error).splitlines()[0]}
