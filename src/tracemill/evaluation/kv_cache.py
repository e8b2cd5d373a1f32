"""Keys and values of many live episodes, kept from turn to turn.

A prompt of a later turn begins with the prompt and the answer of the turn before, and all prompts begin with the same
system prompt and tools. `Rows` remembers for each row which token sits in which slot, so that the next call copies the
longest common prefix from any row and runs the model over the rest alone. Slots need not be in order or without gaps:
positions are given to the model explicitly and a mask says which slots a row may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers.cache_utils import Cache, CacheLayerMixin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.int64]


class BufferLayer(CacheLayerMixin):  # type: ignore[misc]
    """One layer's keys and values in buffers of fixed size [rows, heads, slots, width]: writing copies no history."""

    is_sliding = False

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.is_initialized = True
        self.rows = slice(None)
        self.used = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing to do: the buffers are there from the start."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write new states behind the used slots of the rows in view; return all of those rows up to there."""
        end = self.used + key_states.shape[2]
        self.keys[self.rows, :, self.used : end] = key_states
        self.values[self.rows, :, self.used : end] = value_states
        return self.keys[self.rows, :, :end], self.values[self.rows, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of what attention sees."""
        return self.used + query_length, 0

    def get_seq_length(self) -> int:
        """Slots in use."""
        return self.used

    def get_max_length(self) -> int:
        """Slots there are."""
        return int(self.keys.shape[2])


class Segment:
    """The buffers of all layers for one batch of rows."""

    def __init__(self, layers: list[BufferLayer]) -> None:
        self.layers = layers
        self.cache = Cache(layers=layers)

    @property
    def used(self) -> int:
        """Slots in use, the same in every layer."""
        return self.layers[0].used

    @property
    def device(self) -> torch.device:
        """Where the buffers are."""
        return self.layers[0].keys.device

    def view_rows(self, rows: slice) -> None:
        """Let the next forward pass read and write these rows only."""
        for layer in self.layers:
            layer.rows = rows

    def advance(self, count: int) -> None:
        """Count `count` more slots as used."""
        for layer in self.layers:
            layer.used += count


class Row:
    """Where the tokens of one episode are: token `ids[i]` sits in slot `slots[i]` of row `row` of `segment`."""

    def __init__(self, segment: Segment, row: int, ids: Slots, slots: Slots) -> None:
        self.segment, self.row, self.ids, self.slots = segment, row, ids, slots


def common_prefix(a: Slots, b: Slots) -> int:
    """Return how many leading tokens two sequences share."""
    n = min(len(a), len(b))
    differs = np.flatnonzero(a[:n] != b[:n])
    return int(differs[0]) if len(differs) else n


def best_source(prompt: Slots, own: Row | None, others: Sequence[Row]) -> tuple[Row | None, int]:
    """Return the row that shares the longest prefix with `prompt` and its length; at least one token is left to run.

    The episode's own row is taken whenever there is one: nothing else shares more than the conversation so far.
    """
    limit = len(prompt) - 1
    if own is not None:
        return own, min(common_prefix(prompt, own.ids), limit)
    best: tuple[Row | None, int] = (None, 0)
    for row in others:
        shared = min(common_prefix(prompt, row.ids), limit)
        if shared > best[1]:
            best = (row, shared)
    return best


def gather(sources: Sequence[tuple[Row | None, int]], capacity: int, model: Any, depth: int) -> Segment:
    """Copy the shared prefixes into a new segment of `capacity` slots, flush right in the first `depth` slots."""
    config = model.config
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    shape = (len(sources), config.num_key_value_heads, capacity, width)
    segments = list({id(row.segment): row.segment for row, length in sources if row is not None and length}.values())
    layers = []
    for index in range(config.num_hidden_layers):
        # Zeros, not empty memory: a masked slot still meets the softmax's zero, and 0 * NaN would be NaN.
        keys = torch.zeros(shape, dtype=model.dtype, device=model.device)
        values = torch.zeros_like(keys)
        for segment in segments:
            _copy(segment.layers[index], segment, sources, depth, keys, values)
        layer = BufferLayer(keys, values)
        layer.used = depth
        layers.append(layer)
    return Segment(layers)


def _copy(
    old: BufferLayer,
    segment: Segment,
    sources: Sequence[tuple[Row | None, int]],
    depth: int,
    keys: torch.Tensor,
    values: torch.Tensor,
) -> None:
    for target, (row, length) in enumerate(sources):
        if row is None or row.segment is not segment or not length:
            continue
        states = _states(old, row.row, row.slots[:length])
        keys[target, :, depth - length : depth], values[target, :, depth - length : depth] = states


def put(row: Row, segment: Segment, target: int) -> None:
    """Copy a row's states into the first slots of row `target` of another segment."""
    for old, new in zip(row.segment.layers, segment.layers, strict=True):
        new.keys[target, :, : len(row.slots)], new.values[target, :, : len(row.slots)] = _states(
            old, row.row, row.slots
        )


def _states(layer: BufferLayer, row: int, slots: Slots) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values [heads, n, width] of these slots of a row."""
    first, length = int(slots[0]), len(slots)
    if int(slots[-1]) - first + 1 == length:
        return layer.keys[row, :, first : first + length], layer.values[row, :, first : first + length]
    index = torch.as_tensor(slots, device=layer.keys.device)
    return layer.keys[row].index_select(1, index), layer.values[row].index_select(1, index)
