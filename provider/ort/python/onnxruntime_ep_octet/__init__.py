"""Octet in Python: a plugin execution provider for onnxruntime, and ONNX schemas of the operators that it computes.

    import onnxruntime_ep_octet as octet

    session = octet.session("model.int8.onnx", min_coverage=0.9)
    session.run(None, inputs)
"""

from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version

from .provider import get_ep_name, get_ep_names, get_library_path, register, session
from .schemas import register_onnx_schemas

__all__ = [
    "get_ep_name",
    "get_ep_names",
    "get_library_path",
    "register",
    "register_onnx_schemas",
    "session",
]
try:
    __version__ = _version("onnxruntime-ep-octet")
except _NotInstalled:  # the tests of the source tree import parts of the package
    __version__ = "0+source"
