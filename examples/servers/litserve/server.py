"""LitServe: JSON with "sentences" in, "embeddings" out. Requests that wait are computed as one batch."""

import os
from itertools import chain

import litserve as ls
import numpy as np
from sentence_encoder import SentenceEncoder


class SentenceAPI(ls.LitAPI):
    """With OCTET_ROWWISE=1 and a fixed length, the embeddings of a request do not depend on its batch mates.

    (To the last bit where no batch is of one sentence: onnxruntime sums that in another order.)
    """

    def setup(self, device: str) -> None:
        self._encoder = SentenceEncoder(os.environ.get("MODEL_FOLDER", "."), length=64)

    def decode_request(self, request: dict) -> list[str]:
        return request["sentences"]

    def batch(self, inputs: list[list[str]]) -> list[list[str]]:
        return inputs

    def predict(self, requests: list[list[str]]) -> list[np.ndarray]:
        embeddings = self._encoder.encode(list(chain.from_iterable(requests)))
        return np.split(embeddings, np.cumsum([len(request) for request in requests])[:-1])

    def unbatch(self, output: list[np.ndarray]) -> list[np.ndarray]:
        return output

    def encode_response(self, output: np.ndarray) -> dict:
        return {"embeddings": output.tolist()}


if __name__ == "__main__":
    api = SentenceAPI(max_batch_size=4, batch_timeout=0.005)
    server = ls.LitServer(api, accelerator="cpu", workers_per_device=int(os.environ.get("WORKERS", "2")))
    server.run(host="127.0.0.1", port=int(os.environ.get("PORT", "8000")), generate_client_file=False)
