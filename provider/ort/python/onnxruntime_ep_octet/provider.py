"""The plugin in onnxruntime."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnx
    import onnxruntime as ort

_EP_NAME = "OctetExecutionProvider"
_LIBRARY = Path(__file__).resolve().parent / "libonnxruntime_ep_octet.so"
_registration = threading.Lock()


def get_library_path() -> str:
    """The plugin library, for onnxruntime.register_execution_provider_library()."""
    if not _LIBRARY.is_file():
        raise FileNotFoundError(f"{_LIBRARY} is missing: the package is to be installed from its wheel")
    return str(_LIBRARY)


def get_ep_name() -> str:
    """The provider's name, as OrtEpDevice.ep_name has it."""
    return _EP_NAME


def get_ep_names() -> list[str]:
    """The names of all providers of the library."""
    return [_EP_NAME]


def register() -> None:
    """Makes onnxruntime know the provider. Without effect where it does already, whoever registered it."""
    ort = _onnxruntime()
    with _registration:
        if not _devices():
            ort.register_execution_provider_library("octet", get_library_path())


def session(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    session_options: ort.SessionOptions | None = None,
    **options: object,
) -> ort.InferenceSession:
    """An onnxruntime session in which Octet runs what it can, and onnxruntime's CPU provider the rest.

    `options` are the provider's: threads, backend, accuracy, min_coverage, report, verbose, warmup, rowwise,
    lstm_quantization (README.md has the table); those not given, or None, come from the environment (OCTET_THREADS,
    ...). The provider is added to `session_options`, which are meant for this one session. Raises where onnxruntime or
    Octet refuses the model or an option: nothing falls back silently.
    """
    ort = _onnxruntime()
    register()
    settings = session_options or ort.SessionOptions()
    given = {name: _text(value) for name, value in options.items() if value is not None}
    settings.add_provider_for_devices(_devices()[:1], given)
    source: Any = model
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    elif not isinstance(source, bytes):
        source = os.fspath(source)
    return ort.InferenceSession(source, settings, enable_fallback=False)


def _onnxruntime() -> Any:
    """The package does not depend on onnxruntime, since several packages bring that module."""
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise ModuleNotFoundError("Octet needs onnxruntime 1.24 or newer: pip install onnxruntime") from None
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise ImportError(f"Octet needs onnxruntime 1.24 or newer, but {onnxruntime.__version__} is installed")
    return onnxruntime


def _devices() -> list[Any]:
    return [device for device in _onnxruntime().get_ep_devices() if device.ep_name == _EP_NAME]


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
