"""The groups that `octet explain` tells, beside those that the plugin takes."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx

from octet_sessions import LIBRARY, Level, octet_session

PROGRAM = Path(os.environ.get("OCTET_BUILD_DIR", LIBRARY.parent)) / "octet"


@contextmanager
def standard_error() -> Iterator[list[str]]:
    """The lines that the process writes meanwhile, C++ included."""
    lines: list[str] = []
    saved = os.dup(2)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            lines += file.read().splitlines()


def explain(model: onnx.ModelProto, folder: Path, *arguments: str) -> dict[str, Any]:
    path = folder / "explained.onnx"
    path.write_bytes(model.SerializeToString())
    done = subprocess.run(
        [PROGRAM, "explain", path, "--json", *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def taken(model: onnx.ModelProto, options: Mapping[str, str]) -> list[str]:
    """Of a session without onnxruntime's optimizations: the lines on groups and on marks of the QDQ format."""
    # What gives each unit of the QDQ format a DequantizeLinear of its own runs at every level, unless switched off.
    entries = {"session.disable_quant_qdq": "1"}
    with standard_error() as lines:
        octet_session(model, {**options, "verbose": "dispatch"}, Level.ORT_DISABLE_ALL, entries=entries)
    texts = [line.removeprefix("octet: ") for line in lines]
    return [text for text in texts if text.startswith(("taken together: ", "left to onnxruntime: "))]


def assert_explained_as_taken(model: onnx.ModelProto, folder: Path, rowwise: bool = False) -> list[str]:
    """Groups and marks in the same words and the same order; returns them."""
    result = explain(model, folder, *(["--rowwise"] if rowwise else []))
    told = [item["description"] for item in (*result["groups"], *result["qdq_marks"])]
    found = taken(model, {"rowwise": "1"} if rowwise else {})
    assert told == found, "\n".join(["explained:", *told, "taken:", *found])
    return told
