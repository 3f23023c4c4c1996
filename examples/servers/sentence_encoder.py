"""Sentences to embeddings by a quantized all-MiniLM-L6-v2 in onnxruntime: what each server of this folder serves."""

import os
from pathlib import Path

import numpy as np
import onnxruntime as ort
import onnxruntime_ep_octet as octet
from tokenizers import Tokenizer


class SentenceEncoder:
    """Of a folder with model.onnx and tokenizer.json; pads to `length` tokens, or to the longest sentence of a batch.

    Environment, beside that of Octet itself (OCTET_ROWWISE=1 and the other options):
      THREADS           of the session (1: right where the server has a worker for each core)
      SPINNING=1        they wait for work with a busy core
      PROVIDER=cpu      onnxruntime's own kernels, to compare with
      ORT_LOG_LEVEL=1   onnxruntime's whole log, with the line in which Octet tells what it runs
    """

    def __init__(self, folder: str | os.PathLike[str], length: int | None = None) -> None:
        self._tokenizer = Tokenizer.from_file(str(Path(folder, "tokenizer.json")))
        self._tokenizer.enable_truncation(length or 512)
        self._tokenizer.enable_padding(length=length)
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = int(os.environ.get("THREADS", "1"))
        settings.add_session_config_entry("session.intra_op.allow_spinning", os.environ.get("SPINNING", "0"))
        settings.log_severity_level = int(os.environ.get("ORT_LOG_LEVEL", "3"))
        model = str(Path(folder, "model.onnx"))
        if os.environ.get("PROVIDER") == "cpu":
            self._session = ort.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
        else:
            self._session = octet.session(model, session_options=settings, min_coverage=1)

    def encode(self, sentences: list[str]) -> np.ndarray:
        """Embeddings of unit length, float32 [len(sentences), 384]."""
        rows = self._tokenizer.encode_batch(sentences)
        inputs = {
            "input_ids": np.array([row.ids for row in rows], np.int64),
            "attention_mask": np.array([row.attention_mask for row in rows], np.int64),
        }
        return self._session.run(["sentence_embedding"], inputs)[0]
