"""liboctet, which lies beside the plugin, by its C interface."""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class OctetError(RuntimeError):
    """What liboctet says is wrong."""


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(Path(__file__).resolve().parent / "liboctet.so"))
    for name in ("octet_ops_json", "octet_infer_json"):
        getattr(library, name).restype = ctypes.c_void_p
    library.octet_status_text.restype = ctypes.c_char_p
    library.octet_status_text.argtypes = library.octet_status_release.argtypes = [ctypes.c_void_p]
    library.octet_status_release.restype = None
    library.octet_cpu_isa.restype = library.octet_onednn_version.restype = ctypes.c_char_p
    return library


@functools.cache
def operators() -> list[dict[str, Any]]:
    """The definitions of all operators: octet_ops_json() of octet.h. To be read only."""
    definitions: list[dict[str, Any]] = json.loads(_text(_library().octet_ops_json))
    return definitions


def infer(node: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Outputs of a node from what is known of its inputs: octet_infer_json() of octet.h."""
    outputs: list[dict[str, Any] | None] = json.loads(_text(_library().octet_infer_json, json.dumps(node).encode()))
    return outputs


def cpu_isa() -> str:
    """The instruction set that Octet uses here."""
    name: bytes | None = _library().octet_cpu_isa()
    return name.decode() if name else "unsupported"


def onednn_version() -> str:
    version: bytes = _library().octet_onednn_version()
    return version.decode()


def _text(function: Callable[..., int | None], *arguments: bytes) -> str:
    size = ctypes.c_uint64()
    _check(function(*arguments, None, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(function(*arguments, buffer, ctypes.byref(size)))
    return buffer.value.decode()


def _check(status: int | None) -> None:
    if status is None:
        return
    try:
        raise OctetError(_library().octet_status_text(status).decode())
    finally:
        _library().octet_status_release(status)
