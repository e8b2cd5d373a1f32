"""Title similarity by a sentence model, for those who score with one (SN15 does where the model is installed).

Without a model the scorer leaves titles of other products out of the rule score, exactly as production does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracemill.environment.params import ScorerParams
from tracemill.errors import InputError

Vector = Any
"""One embedding: a NumPy vector, or a list of numbers where a suite brings its own."""


class Titles:
    """Embeds titles and says whether two of them match; a wanted title is embedded once."""

    def __init__(self, model: Any, threshold: float = 0.7) -> None:
        self.model = model
        self.threshold = threshold
        self._wanted: dict[str, Vector] = {}

    def encode(self, titles: Sequence[str]) -> list[Vector]:
        """One vector a title, all embedded in one batch."""
        return list(self.model.encode(list(titles))) if titles else []

    def matches(self, found: Vector, wanted: str, given: Mapping[str, Vector]) -> bool:
        """Whether the product title's vector is near enough to the wanted title; `given` holds a suite's own
        embeddings."""
        return bool(self.similarity(found, wanted, given) >= self.threshold)

    def similarity(self, found: Vector, wanted: str, given: Mapping[str, Vector]) -> Any:
        """Similarity as the model defines it (cosine for most), in the model's own precision."""
        vector = given[wanted] if wanted in given else self._wanted.get(wanted)
        if vector is None:
            vector = self._wanted[wanted] = self.model.encode([wanted])[0]
        return self.model.similarity([found], [vector])[0][0]


def load_titles(params: ScorerParams) -> Titles | None:
    """Return the titles model of the parameters, None where none is configured.

    Raises InputError when sentence-transformers is missing or the folder holds no model; nothing is downloaded.
    """
    if params.title_model is None:
        return None
    folder = Path(params.title_model)
    if not folder.is_dir():
        raise InputError(f"{folder}: no folder; environment.scorer.title_model names a sentence-transformers folder")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise InputError("environment.scorer.title_model is set: pip install 'tracemill[titles]'") from error
    try:
        model = SentenceTransformer(str(folder), device="cpu", local_files_only=True, model_kwargs={"dtype": "float32"})
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: no sentence-transformers model ({error})") from error
    return Titles(model, params.title_threshold)
