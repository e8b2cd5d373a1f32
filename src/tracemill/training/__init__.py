"""The recipe: renderer and mask gate, SFT, rejection sampling, teacher, KTO, Dr. GRPO."""
