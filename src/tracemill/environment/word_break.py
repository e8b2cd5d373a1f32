"""Word breaks as Lucene 9's StandardTokenizer makes them: UAX #29 of Unicode 12.1, emoji, at most 255 UTF-16 units.

The tokenizer's grammar is a set of regular expressions over character classes of which the longest match wins. Here
the grammar is written down with small combinators and run as a finite automaton that is made deterministic state by
state as text needs it, so that no text can make it slow. ASCII text, most of a catalogue, takes a shortcut with the
same outcome. `word_break.json` holds the character classes of Unicode 12.1 (Python's own tables are newer, and newer
versions differ: a colon no longer joins words, for example).
"""

from __future__ import annotations

import functools
import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from importlib import resources

MAX_TOKEN_UNITS = 255
"""Longest token in UTF-16 units; longer words are cut into pieces."""

_SPACED = re.compile(r"[^ \t\n\r]+")
_ASCII_TOKEN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_]|(?<=[A-Za-z])[.:'](?=[A-Za-z])|(?<=[0-9])[.,;'](?=[0-9]))*")

_Edge = tuple[str | None, int]


def split_words(text: str) -> list[str]:
    """Return the tokens of a text in order. No token holds a blank, so what is between blanks is split on its own."""
    if text.isascii():
        return _split_ascii(text)
    words: list[str] = []
    for piece in _SPACED.findall(text):
        words.extend(_split_ascii(piece) if piece.isascii() else _split_unicode(piece))
    return words


def _split_ascii(text: str) -> list[str]:
    tokens: list[str] = _ASCII_TOKEN.findall(text)
    if "_" not in text and (len(text) <= MAX_TOKEN_UNITS or max(map(len, tokens), default=0) <= MAX_TOKEN_UNITS):
        return tokens
    return [word for token in tokens for word in _cut_ascii(token)]


def _cut_ascii(run: str) -> Iterator[str]:
    if len(run) <= MAX_TOKEN_UNITS:
        if run.strip("_"):
            yield run
        return
    start = 0
    while start < len(run):
        match = _ASCII_TOKEN.match(run, start, start + MAX_TOKEN_UNITS)
        if match is None or not match[0].strip("_"):
            start += 1
            continue
        yield match[0]
        start = match.end()


def _split_unicode(text: str) -> Iterator[str]:
    automaton = _automaton()
    classes = [_class_of(character) for character in text]
    start = 0
    while start < len(text):
        end = automaton.longest(text, classes, start)
        if end > start:
            yield text[start:end]
            start = end
        else:
            start += 1


@functools.cache
def _ranges() -> tuple[list[int], list[int], list[int], list[str]]:
    table = json.loads(resources.files(__package__).joinpath("word_break.json").read_text(encoding="ascii"))
    starts, ends, masks = zip(*table["ranges"], strict=True)
    return list(starts), list(ends), list(masks), list(table["names"])


@functools.lru_cache(maxsize=1 << 16)
def _class_of(character: str) -> int:
    """Bits of the named classes of a character; 0 where it has none."""
    starts, ends, masks, _ = _ranges()
    code = ord(character)
    at = bisect_right(starts, code) - 1
    return masks[at] if at >= 0 and code <= ends[at] else 0


class _Grammar:
    """A non-deterministic automaton under construction: `edges[state]` holds (class expression or None, target)."""

    def __init__(self) -> None:
        self.edges: list[list[_Edge]] = []

    def state(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def add(self, pattern: object, start: int) -> int:
        """Add a pattern after state `start`, return the state behind it.

        A text is one character of that class (`a|b` either, `a-b` the first without the second); a tuple a sequence; a
        list alternatives; ("*", p), ("+", p) and ("?", p) repetitions.
        """
        if isinstance(pattern, str):
            end = self.state()
            self.edges[start].append((pattern, end))
            return end
        if isinstance(pattern, list):
            end = self.state()
            for choice in pattern:
                self.edges[self.add(choice, start)].append((None, end))
            return end
        assert isinstance(pattern, tuple)
        if pattern[0] in ("*", "+", "?"):
            return self._repeat(pattern[0], pattern[1], start)
        for part in pattern:
            start = self.add(part, start)
        return start

    def _repeat(self, kind: str, pattern: object, start: int) -> int:
        enter, leave = self.state(), self.state()
        self.edges[start].append((None, enter))
        last = self.add(pattern, enter)
        self.edges[last].append((None, leave))
        if kind in "*?":
            self.edges[enter].append((None, leave))
        if kind in "*+":
            self.edges[last].append((None, enter))
        return leave


def _extended(name: str) -> tuple[object, ...]:
    return (name, ("*", "extend"))


def _word_pattern() -> object:
    letter, hebrew = _extended("aletter|hebrew"), _extended("hebrew")
    numeric, katakana, joiner = _extended("numeric"), _extended("katakana"), _extended("extendnumlet")
    in_word = _extended("midletter|midnumlet|single_quote")
    in_number = _extended("midnum|midnumlet|single_quote")
    quoted = [_extended("single_quote"), (_extended("double_quote"), hebrew)]
    run: list[object] = [
        (katakana, ("*", (("*", joiner), katakana))),
        (
            "+",
            [
                (hebrew, quoted),
                (numeric, ("*", ([("*", joiner), in_number], numeric))),
                (letter, ("*", ([("*", joiner), in_word], letter))),
            ],
        ),
    ]
    return (("*", joiner), run, ("*", (("+", joiner), run)), ("*", joiner))


def _emoji_pattern() -> list[object]:
    styled = ("*", "extend-text_style|emoji_style")
    modified = (("?", (("*", "zwj"), "modifier_base", styled)), "modifier", styled)
    element = [(("*", "zwj"), "emoji", styled, ("?", "emoji_style")), modified]
    return [
        (element, [("*", ("zwj", element)), (("+", "tag"), "tag_end")]),
        ("keycap_base", styled, ("?", "emoji_style"), "keycap", styled),
        (_extended("regional"), _extended("regional")),
    ]


class _Automaton:
    """The grammar made deterministic on demand; a state is the set of states that the grammar may be in."""

    def __init__(self) -> None:
        grammar = _Grammar()
        start = grammar.state()
        rules = [
            _word_pattern(),
            *_emoji_pattern(),
            ("+", _extended("complex")),
            _extended("han"),
            _extended("hiragana"),
        ]
        self._accepting = {grammar.add(rule, start) for rule in rules}
        names = _ranges()[3]
        self._bits = {name: 1 << position for position, name in enumerate(names)}
        self._edges = grammar.edges
        self._start = self._closed({start})
        self._steps: dict[tuple[frozenset[int], int], tuple[frozenset[int], bool]] = {}

    def _closed(self, states: set[int]) -> frozenset[int]:
        waiting = list(states)
        while waiting:
            for expression, target in self._edges[waiting.pop()]:
                if expression is None and target not in states:
                    states.add(target)
                    waiting.append(target)
        return frozenset(states)

    def _holds(self, expression: str, mask: int) -> bool:
        wanted, _, unwanted = expression.partition("-")
        return bool(mask & self._union(wanted)) and not (unwanted and mask & self._union(unwanted))

    def _union(self, names: str) -> int:
        return sum(self._bits[name] for name in names.split("|"))

    def _step(self, states: frozenset[int], mask: int) -> tuple[frozenset[int], bool]:
        key = (states, mask)
        known = self._steps.get(key)
        if known is None:
            edges = (edge for state in states for edge in self._edges[state])
            reached = self._closed({to for text, to in edges if text is not None and self._holds(text, mask)})
            known = self._steps[key] = (reached, not self._accepting.isdisjoint(reached))
        return known

    def longest(self, text: str, classes: list[int], start: int) -> int:
        """Return the end of the longest token that starts at `start`; `start` itself where none does."""
        states, best, units = self._start, start, 0
        for at in range(start, len(classes)):
            units += 2 if text[at] > "\uffff" else 1
            if units > MAX_TOKEN_UNITS:
                break
            states, accepted = self._step(states, classes[at])
            if not states:
                break
            if accepted:
                best = at + 1
        return best


@functools.cache
def _automaton() -> _Automaton:
    return _Automaton()
