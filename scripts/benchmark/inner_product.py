"""octet_dqip, the inner product of liboctet, beside onnxruntime's DynamicQuantizeMatMul."""

import ctypes
from pathlib import Path

import numpy as np

from .cases import InnerProduct, Product
from .graph import random_integers

FLOAT, INT8 = 1, 3  # of ONNX's TensorProto


def as_operator(case: InnerProduct, rows: int) -> Product:
    """The operator that does this job: 8-bit weights with a scale for each column, and a bias."""
    operator, types = "DynamicQuantizeMatMul", ("float", "int8", "float")
    return Product(operator, *types, "constant", "hot", rows, case.k, case.n, case.threads)


class Calls:
    """Calls of one product; each argument is converted to C once."""

    def __init__(self, library: Path, product: Product) -> None:
        self._library = ctypes.CDLL(library)
        self._library.octet_dqip_init.restype = ctypes.c_void_p
        self._library.octet_dqip_forward_rows.restype = ctypes.c_void_p
        self._library.octet_dqip_release.restype = None
        m, k, n = product.m, product.k, product.n
        sizes, types = [ctypes.c_uint64(x) for x in (m, n, k)], (FLOAT, INT8, FLOAT)
        flags = (1, 1, 0, 0)  # constant weights, a bias, no activation, the full range
        self._handle = ctypes.c_void_p(self._library.octet_dqip_init(*sizes, *types, *flags))
        generator = np.random.default_rng(1)
        weight = random_integers("int8", (k, n), 0)
        scale = generator.uniform(0.008, 0.012, n).astype(np.float32)
        bias = generator.uniform(-1, 1, n).astype(np.float32)
        self._a = generator.uniform(-1, 1, (m, k)).astype(np.float32)
        self._c = np.zeros((m, n), np.float32)
        self._check("set_option", b"threads", ctypes.c_int64(product.threads))
        self._check("set_params", *(pointer(x) for x in (weight, scale, bias)), None)

    def __del__(self) -> None:
        self._library.octet_dqip_release(self._handle)

    def _check(self, name: str, *arguments: object) -> None:
        function = getattr(self._library, f"octet_dqip_{name}")
        function.restype = ctypes.c_void_p
        if function(self._handle, *arguments):
            raise RuntimeError(f"octet_dqip_{name} failed")

    def run(self, rows: int, times: int) -> None:
        forward, handle = self._library.octet_dqip_forward_rows, self._handle
        m, a, c = ctypes.c_uint64(rows), pointer(self._a), pointer(self._c)
        for _ in range(times):
            if forward(handle, m, a, None, None, c):
                raise RuntimeError("octet_dqip_forward_rows failed")


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
