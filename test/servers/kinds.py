"""What the servers of examples/servers differ in: how each is started, asked, and answers."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "servers"
PROGRAMS = Path(sys.executable).parent  # not resolved: this environment's


@dataclass(frozen=True)
class Setting:
    """How a server uses the cores: processes (Ray's replicas), and threads of the session in each."""

    workers: int
    threads: int
    spinning: bool = False

    @property
    def environment(self) -> dict[str, str]:
        return {"THREADS": str(self.threads), "SPINNING": str(int(self.spinning))}

    def __str__(self) -> str:
        workers, threads = ("" if count == 1 else "s" for count in (self.workers, self.threads))
        waiting = " that spin" if self.spinning else ""
        return f"{self.workers} worker{workers} x {self.threads} thread{threads}{waiting}"


OF_THE_EXAMPLES = Setting(workers=2, threads=1)


@dataclass(frozen=True)
class Launch:
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A server: `launch` prepares the folder that holds a copy of the example and the model."""

    launch: Callable[[Path, int, Setting], Launch]
    ready: str  # path that answers 200 where requests can be sent
    path: str  # of requests
    request: Callable[[list[str]], dict]
    embeddings: Callable[[dict], np.ndarray]
    options: dict[str, str] = field(default_factory=dict)  # of Octet, in the environment
    length: int | None = None  # to which sentences are padded


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def launch_mlserver(folder: Path, port: int, setting: Setting) -> Launch:
    settings = json.loads((folder / "settings.json").read_text())
    (folder / "settings.json").write_text(json.dumps(settings | {"parallel_workers": setting.workers}))
    grpc, metrics = free_ports(2)
    ports = {"HTTP_PORT": port, "GRPC_PORT": grpc, "METRICS_PORT": metrics}
    environment = {f"MLSERVER_{name}": str(value) for name, value in ports.items()}
    return Launch([str(PROGRAMS / "mlserver"), "start", "."], environment)


def launch_litserve(folder: Path, port: int, setting: Setting) -> Launch:
    return Launch([sys.executable, "server.py"], {"PORT": str(port), "WORKERS": str(setting.workers)})


def launch_ray(folder: Path, port: int, setting: Setting) -> Launch:
    import yaml

    settings = yaml.safe_load((folder / "serve.yaml").read_text())
    settings["http_options"]["port"] = port
    (application,) = settings["applications"]
    application["deployments"][0]["num_replicas"] = setting.workers
    application["deployments"][0]["ray_actor_options"]["num_cpus"] = setting.threads
    (folder / "serve.yaml").write_text(yaml.safe_dump(settings))
    environment = {"RAY_TMPDIR": str(folder), "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    return Launch([str(PROGRAMS / "serve"), "run", "serve.yaml"], environment)


def v2_request(sentences: list[str]) -> dict:
    tensor = {"name": "sentences", "shape": [len(sentences), 1], "datatype": "BYTES", "data": sentences}
    return {"inputs": [tensor | {"parameters": {"content_type": "str"}}]}


def v2_embeddings(answer: dict) -> np.ndarray:
    (output,) = answer["outputs"]
    return np.array(output["data"], np.float32).reshape(output["shape"])


def plain_request(sentences: list[str]) -> dict:
    return {"sentences": sentences}


def plain_embeddings(answer: dict) -> np.ndarray:
    return np.array(answer["embeddings"], np.float32)


KINDS = {
    "mlserver": Kind(
        launch_mlserver, "/v2/models/sentences/ready", "/v2/models/sentences/infer", v2_request, v2_embeddings
    ),
    "litserve": Kind(
        launch_litserve,
        "/health",
        "/predict",
        plain_request,
        plain_embeddings,
        options={"OCTET_ROWWISE": "1"},
        length=64,
    ),
    "ray": Kind(launch_ray, "/-/healthz", "/", plain_request, plain_embeddings),
}


def encode(body: dict) -> bytes:
    return json.dumps(body).encode()
