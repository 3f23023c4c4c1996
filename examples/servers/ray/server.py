"""Ray Serve: JSON with "sentences" in, "embeddings" out, by as many replicas as serve.yaml says, on any machine."""

from ray import serve
from sentence_encoder import SentenceEncoder
from starlette.requests import Request


@serve.deployment
class Sentences:
    def __init__(self, folder: str) -> None:
        self._encoder = SentenceEncoder(folder)

    async def __call__(self, request: Request) -> dict:
        sentences = (await request.json())["sentences"]
        return {"embeddings": self._encoder.encode(sentences).tolist()}


def application(arguments: dict[str, str]) -> serve.Application:
    return Sentences.bind(arguments["folder"])
