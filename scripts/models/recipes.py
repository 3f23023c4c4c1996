"""The ways to quantize a float model that this project is run, tested and measured with."""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from onnxruntime import quantization
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

Inputs = Mapping[str, np.ndarray]

_DYNAMIC_OPERATORS = ["MatMul", "LSTM", "Attention", "Gather"]

DYNAMIC = {
    "dyn": {"weight_type": QuantType.QInt8, "op_types_to_quantize": _DYNAMIC_OPERATORS},
    "dyn_u8": {"weight_type": QuantType.QUInt8},
    "dyn_pc_rr": {
        "weight_type": QuantType.QInt8,
        "op_types_to_quantize": _DYNAMIC_OPERATORS,
        "per_channel": True,
        "reduce_range": True,
    },
}


def _static(form: QuantFormat, activation: QuantType, weight: QuantType, per_channel: bool) -> dict:
    return {
        "quant_format": form,
        "activation_type": activation,
        "weight_type": weight,
        "per_channel": per_channel,
        "calibrate_method": CalibrationMethod.MinMax,
    }


STATIC = {
    "qop_u8s8_pc": _static(QuantFormat.QOperator, QuantType.QUInt8, QuantType.QInt8, True),
    "qop_u8u8": _static(QuantFormat.QOperator, QuantType.QUInt8, QuantType.QUInt8, False),
    "qop_s8s8": _static(QuantFormat.QOperator, QuantType.QInt8, QuantType.QInt8, False),
    "qdq_u8s8_pc": _static(QuantFormat.QDQ, QuantType.QUInt8, QuantType.QInt8, True),
}

NAMES = [*DYNAMIC, *STATIC]


class _Calibration(CalibrationDataReader):
    def __init__(self, samples: Iterable[Inputs]):
        self._samples = iter(samples)

    def get_next(self) -> Inputs | None:
        return next(self._samples, None)


def quantize(
    recipe: str, source: Path, target: Path, calibration: Callable[[], Iterable[Inputs]]
) -> None:
    """Writes `source` quantized to `target`; only static recipes ask for calibration samples."""
    with tempfile.TemporaryDirectory() as scratch:
        prepared = Path(scratch) / source.name
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        if recipe in DYNAMIC:
            quantization.quantize_dynamic(prepared, target, **DYNAMIC[recipe])
        else:
            quantization.quantize_static(
                prepared, target, _Calibration(calibration()), **STATIC[recipe]
            )
