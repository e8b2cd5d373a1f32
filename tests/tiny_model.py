"""A tiny random Qwen3 checkpoint with a byte tokenizer and Qwen3's special tokens, made on the spot."""

from pathlib import Path

from tracemill.environment.chat import CONTROL_TOKENS, shipped_template


def make_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.add_tokens(list(CONTROL_TOKENS), special_tokens=False)
    tokenizer.chat_template = shipped_template("qwen3")
    return tokenizer


def make_model(vocabulary: int, seed: int = 0, spread: float = 0.3, head_dim: int = 8):
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.set_num_threads(1)  # more than one costs more than it brings at this width
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=head_dim,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        initializer_range=spread,
        bos_token_id=None,
        eos_token_id=None,
    )
    return Qwen3ForCausalLM(config).eval()


def save_checkpoint(folder: Path, seed: int = 0) -> Path:
    tokenizer = make_tokenizer()
    model = make_model(len(tokenizer), seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
