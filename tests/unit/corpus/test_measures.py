"""What is measured lazily equals what the definition says."""

import json
import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tracemill.corpus.measures import THOUGHT_CHARACTERS, measure

PIECES = st.sampled_from(
    ["I look at ", "Step ", "7", "12.5", "  ", "\n", "\t\x1f", "\u00a0", "é", "'x'", "_", "word " * 60, "x" * 3000]
)
THOUGHTS = st.lists(st.lists(PIECES, max_size=5).map("".join) | st.none(), max_size=8)
VARIABLE = re.compile(r"\d+(?:[.,]\d+)*|[\"'`“”‘’][^\"'`“”‘’]{0,200}[\"'`“”‘’]")


@given(THOUGHTS)
def test_thoughts_and_template_share_follow_their_definition(thoughts):
    messages = [{"role": "assistant", "content": "", "reasoning_content": thought} for thought in thoughts]
    found = measure(json.dumps(messages))

    folded = [" ".join(thought.split()) for thought in thoughts if thought and thought.split()]
    templates = Counter(VARIABLE.sub("_", thought[:THOUGHT_CHARACTERS]) for thought in folded)
    assert found.thinking_turns == len(folded)
    assert found.thoughts == " ".join(folded)[:THOUGHT_CHARACTERS]
    assert found.template_share == (max(templates.values()) / len(folded) if len(folded) > 1 else 0.0)
