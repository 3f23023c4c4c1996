"""A custom runtime of Seldon MLServer: sentences in, embeddings out, by the V2 inference protocol."""

from mlserver import MLModel
from mlserver.codecs import NumpyCodec, StringCodec
from mlserver.types import InferenceRequest, InferenceResponse
from mlserver.utils import get_model_uri
from sentence_encoder import SentenceEncoder


class SentenceRuntime(MLModel):
    async def load(self) -> bool:
        self._encoder = SentenceEncoder(await get_model_uri(self.settings))
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        sentences = StringCodec.decode_input(payload.inputs[0])
        embeddings = self._encoder.encode(sentences)
        return InferenceResponse(
            model_name=self.name,
            model_version=self.version,
            outputs=[NumpyCodec.encode_output("embeddings", embeddings)],
        )
