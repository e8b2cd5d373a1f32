"""The base model: a tiny Qwen3 that can copy and knows nothing else, or a pinned model from the hub.

A tiny model learns to shop from 1,500 traces only if it can already copy. Random initialisation alone does not get
there, so (1) the heads of layer 0 start as fixed-offset heads: every embedding carries one constant coordinate, from
which queries and keys are made, and rotary positions turn a constant pair into a peak at the wanted offset; (2) a short
pretraining on random tokens with repeated spans forms the induction heads above. No shopping text: the base succeeds at
about 0%.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracemill.errors import InputError
from tracemill.training.checkpoint import publish
from tracemill.training.lineage import stage_record, write_lineage
from tracemill.training.params import BaseParams, CopyParams, TinyParams
from tracemill.training.tokenizer import train_tokenizer

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)

CONSTANT = 0
"""The embedding coordinate that is the same for every token at the start."""


def tiny_config(params: TinyParams, tokenizer: Any) -> Any:
    """The Qwen3 configuration of the tiny model."""
    from transformers import Qwen3Config

    return Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=params.hidden,
        intermediate_size=params.intermediate,
        num_hidden_layers=params.layers,
        num_attention_heads=params.heads,
        num_key_value_heads=params.kv_heads,
        head_dim=params.head_dim,
        max_position_embeddings=params.positions,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4},
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        use_cache=True,
    )


def build_tiny(params: TinyParams, tokenizer: Any, seed: int) -> PreTrainedModel:
    """Initialise and pretrain the tiny model; same arguments and thread count give the same weights."""
    import torch
    from transformers import Qwen3ForCausalLM, set_seed

    set_seed(seed)
    model = Qwen3ForCausalLM(tiny_config(params, tokenizer))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        embed_tokens(model, tokenizer, generator)
        point_heads(model, params.offsets)
    pretrain_copying(model, params.pretraining, seed)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def embed_tokens(model: PreTrainedModel, tokenizer: Any, generator: torch.Generator) -> None:
    """Draw embeddings so that a word is close to itself: ` red`, `red` and ` Red` differ by a shared direction each."""
    import torch

    weight = model.get_input_embeddings().weight
    size, width = weight.shape
    spaced, capital = torch.randn(2, width, generator=generator)
    rows: dict[str, torch.Tensor] = {}
    for token_id in range(size):
        text = str(tokenizer.convert_ids_to_tokens(token_id))
        word = text.removeprefix("Ġ")
        key = word.lower() if word.isalpha() else text
        if key not in rows:
            rows[key] = torch.randn(width, generator=generator)
        row = rows[key].clone()
        if word.isalpha():
            row += 0.6 * spaced * (word != text) + 0.6 * capital * (word != key)
        weight[token_id] = 0.1 * row
    weight[:, CONSTANT] = 0.3


def point_heads(model: PreTrainedModel, offsets: list[int]) -> None:
    """Set the heads of layer 0 to look `offsets[h]` tokens back.

    Scores of a head are sum_i a_i cos((m - n - offset) theta_i): constant queries and keys on the fastest rotary pairs,
    the query turned back by the offset.
    """
    import torch

    attention = model.model.layers[0].self_attn
    heads, width = model.config.num_attention_heads, attention.head_dim
    pairs = width // 2
    speed = 1e4 ** (-torch.arange(pairs) * 2.0 / width)
    active = torch.arange(pairs) < pairs // 2 + 1
    scale = 8.0
    attention.q_proj.weight[:, CONSTANT] = 0.0
    for head in range(heads):
        offset = offsets[head % len(offsets)]
        start = head * width
        attention.q_proj.weight[start : start + width] *= 0.1
        attention.q_proj.weight[start : start + pairs, CONSTANT] = scale * active * torch.cos(speed * offset)
        attention.q_proj.weight[start + pairs : start + width, CONSTANT] = -scale * active * torch.sin(speed * offset)
    for head in range(model.config.num_key_value_heads):
        start = head * width
        attention.k_proj.weight[start : start + width] *= 0.1
        attention.k_proj.weight[start : start + width, CONSTANT] = 0.0
        attention.k_proj.weight[start : start + pairs, CONSTANT] = scale * active.float()
    attention.q_norm.weight.fill_(2.8)
    attention.k_norm.weight.fill_(2.8)
    for projection in (attention.v_proj, attention.o_proj):
        torch.nn.init.orthogonal_(projection.weight, gain=0.5)


def copy_batch(params: CopyParams, vocabulary: int, recall: bool, generator: torch.Generator) -> tuple[Any, Any]:
    """Random tokens in which earlier spans come back; labels are set on the repeats only.

    Early steps repeat one short span ([batch, length]); later ones (`recall`) bring back spans from far behind, in any
    order, in half as many rows of twice the length. Returns ids and labels.
    """
    import torch

    shape = (max(params.batch // 2, 1), 2 * params.length) if recall else (params.batch, params.length)
    ids = torch.randint(0, vocabulary, shape, generator=generator)
    labels = torch.full(shape, -100)
    for row in range(len(ids)):
        if recall:
            _recall_row(ids[row], labels[row], generator)
        else:
            span = int(torch.randint(4, params.length // 4, (), generator=generator))
            repeats = ids[row, :span].repeat(params.length // span + 1)[: params.length]
            ids[row] = repeats
            labels[row, span:] = repeats[span:]
    return ids, labels


def _recall_row(ids: torch.Tensor, labels: torch.Tensor, generator: torch.Generator) -> None:
    import torch

    length = len(ids)
    position = length // 2
    while position < length:
        span = int(torch.randint(2, 9, (), generator=generator))
        start = int(torch.randint(0, length // 2 - span, (), generator=generator))
        stop = min(position + span, length)
        ids[position:stop] = ids[start : start + stop - position].clone()
        labels[position + 1 : stop] = ids[position + 1 : stop]
        position = stop + int(torch.randint(0, 2, (), generator=generator))


def pretrain_copying(model: PreTrainedModel, params: CopyParams, seed: int) -> float:
    """Train on copying for `params.steps` steps, the first half on short repeats; returns the last loss (nats a
    token).
    """
    import torch

    generator = torch.Generator().manual_seed(seed + 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=params.learning_rate, weight_decay=0.0, betas=(0.9, 0.98))
    warm, loss = 20, torch.zeros(())
    model.train()
    for step in range(params.steps):
        rate = params.learning_rate * min(1.0, (step + 1) / warm, 0.1 + (params.steps - step) / params.steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        ids, labels = copy_batch(params, model.config.vocab_size, 2 * step >= params.steps, generator)
        loss = model(input_ids=ids, labels=labels, use_cache=False).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0 or step == params.steps - 1:
            logger.info("copying, step %d of %d: loss %.4f", step + 1, params.steps, loss.item())
    model.eval()
    return float(loss.item())


def build_base(params: BaseParams, catalog: Path, out: Path, threads: int) -> None:
    """Write the base checkpoint to `out`: built here on the catalogue's words, or fetched at its pinned revision."""
    out.mkdir(parents=True)
    if params.kind == "pretrained":
        fetch_base(params, out)
    else:
        _build_tiny_base(params, catalog, out, threads)
    write_lineage(out, [stage_record("base", params.kind, params.model_dump(mode="json"), None, None)])


def _build_tiny_base(params: BaseParams, catalog: Path, out: Path, threads: int) -> None:
    from tracemill.environment.products import read_products
    from tracemill.training.launch import pin_threads
    from tracemill.training.texts import added_tokens, tokenizer_texts

    pin_threads(threads)
    texts = tokenizer_texts(list(read_products(catalog)), params.seed)
    tokenizer = train_tokenizer(texts, added_tokens(), params.tiny.vocabulary)
    publish(build_tiny(params.tiny, tokenizer, params.seed), tokenizer, out)


def fetch_base(params: BaseParams, out: Path) -> None:
    """Fetch a model at its revision: weights in safetensors, configuration and tokenizer, no code."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    wanted = ["*.safetensors", "*.json", "*.jinja", "merges.txt", "vocab.*", "LICENSE*"]
    try:
        snapshot_download(params.model, revision=params.revision, local_dir=str(out), allow_patterns=wanted)
    except (HfHubHTTPError, OSError) as error:
        raise InputError(
            f"training.base: {params.model} at {params.revision} cannot be fetched ({str(error).splitlines()[0]}); "
            "check the name, the revision and the network"
        ) from error
    shutil.rmtree(out / ".cache", ignore_errors=True)
    missing = [name for name in ("config.json", "*.safetensors", "tokenizer*.json") if not list(out.glob(name))]
    if missing:
        raise InputError(
            f"training.base: {params.model} at {params.revision} has no {missing[0]}; name a model in safetensors"
        )
