"""Clients that send requests one after the other, each on its own connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from kinds import encode
from server import Server

CLIENTS = 8


@dataclass(frozen=True)
class Question:
    sentences: list[str]
    expected: np.ndarray | None  # None: of the right shape, and of unit length


def check(server: Server, answer: dict, question: Question) -> None:
    actual = server.kind.embeddings(answer)
    if question.expected is None:
        assert actual.shape == (len(question.sentences), 384)
        np.testing.assert_allclose(np.linalg.norm(actual, axis=1), 1, atol=1e-5)
        return
    assert actual.shape == question.expected.shape
    differing = np.count_nonzero(actual.view(np.uint32) != question.expected.view(np.uint32))
    assert differing == 0, f"{differing} of {actual.size} values differ for {question.sentences}"


def run_clients(server: Server, questions: list[Question], is_over: Callable[[int], bool]) -> np.ndarray:
    """Seconds that each request took. A client asks until is_over(number of its requests). Raises the first error."""
    bodies = [encode(server.kind.request(question.sentences)) for question in questions]
    seconds: list[float] = []
    errors: list[BaseException] = []

    def client(first: int) -> None:
        connection = server.connect()
        try:
            count = 0
            while not errors and not is_over(count):
                i = (first + count) % len(questions)
                start = time.perf_counter()
                answer = server.ask(connection, bodies[i])
                seconds.append(time.perf_counter() - start)
                check(server, answer, questions[i])
                count += 1
        except BaseException as error:  # noqa: BLE001: raised by the caller
            errors.append(error)
        finally:
            connection.close()

    clients = [threading.Thread(target=client, args=(i * len(questions) // CLIENTS,)) for i in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    if errors:
        raise errors[0]
    return np.array(seconds)


def ask_each_once(server: Server, questions: list[Question]) -> np.ndarray:
    assert len(questions) % CLIENTS == 0
    return run_clients(server, questions, lambda count: count == len(questions) // CLIENTS)


def ask_for(server: Server, questions: list[Question], duration: float) -> np.ndarray:
    end = time.monotonic() + duration
    return run_clients(server, questions, lambda count: time.monotonic() >= end)
