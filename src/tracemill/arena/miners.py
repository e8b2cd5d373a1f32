"""The miners of a race: each kind plays a problem in its own way and leaves its steps in a recorder.

A kind is a function of this module, registered by `@miner` with the number of hotkeys that run it. Agentic kinds ask
the model before every step that acts (Axis A); the others are the searchers, tricksters and accidents that a real
snapshot is full of.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import msgspec

from tracemill.arena.expert import Expert, Style
from tracemill.arena.plan import plan
from tracemill.arena.recorder import Recorder
from tracemill.arena.thoughts import paraphrase_thought
from tracemill.environment.episode import Call, Turn

Play = Callable[[Recorder, int, random.Random], None]
"""(recorder, hotkey number, random source of this episode) -> None; raises Failure where the sandbox ends the agent."""


class Failure(Exception):
    """The sandbox ended an agent: `status` of the envelope, type and message of the error, whether steps were kept."""

    def __init__(self, status: str, kind: str, message: str, keep_steps: bool = False) -> None:
        super().__init__(message)
        self.status, self.kind, self.message, self.keep_steps = status, kind, message, keep_steps


class Miner(msgspec.Struct, frozen=True):
    """One kind of miner."""

    kind: str
    play: Play
    hotkeys: int
    logged: bool = True
    """Whether its validator writes a proxy log."""


MINERS: dict[str, Miner] = {}


def miner(hotkeys: int = 2, logged: bool = True) -> Callable[[Play], Play]:
    """Register a kind under its function's name."""

    def register(play: Play) -> Play:
        MINERS[play.__name__] = Miner(play.__name__, play, hotkeys, logged)
        return play

    return register


PLAIN = Style("plain", verify=0.15)
CAREFUL = Style("careful", verify=1.0)
BROAD = Style("broad", broad=0.6)
CARELESS = Style("careless", slip=0.6, guess_titles=False)


def turns_of(expert: Expert, recorder: Recorder, tokens: Callable[[Turn], int | None] | None = None) -> None:
    """Let an expert play to its end, each turn after an inference call (or what `tokens` says)."""
    script = expert.script(recorder.problem)
    turn = next(script)
    while True:
        results = recorder.step(turn, written_tokens(turn) if tokens is None else tokens(turn))
        try:
            turn = script.send(results)
        except StopIteration:
            return


def written_tokens(turn: Turn) -> int:
    """Completion tokens that a model needs for a turn, reasoning included; always over the 30 of a real call."""
    return 34 + (len(turn.think) + sum(len(str(call.arguments)) for call in turn.calls)) // 3


def collected_turns(expert: Expert, recorder: Recorder) -> list[Turn]:
    """The turns that an expert plays here, without writing them down."""
    draft = Recorder(recorder.catalog, recorder.problem, random.Random(0), 0, logged=False)
    script = expert.script(recorder.problem)
    turns = [next(script)]
    while True:
        try:
            turns.append(script.send(draft.step(turns[-1])))
        except StopIteration:
            return turns


# --- agentic: the model emits every call


@miner(hotkeys=8)
def agentic(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """The straight one: search, now and then a check, recommend, terminate."""
    turns_of(Expert(PLAIN, hotkey), recorder)


@miner(hotkeys=4)
def careful(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """Opens every product before it recommends it."""
    turns_of(Expert(CAREFUL, hotkey), recorder)


@miner(hotkeys=3)
def reformulating(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """Starts broad, then searches again with better words."""
    turns_of(Expert(BROAD, hotkey), recorder)


@miner(hotkeys=3)
def careless(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """Often takes a neighbour of the right product."""
    turns_of(Expert(CARELESS, hotkey), recorder)


@miner(hotkeys=2, logged=False)
def unlogged(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """Agentic, of the older kind: no proxy log, and results stand in `obs` instead of beside their calls."""
    turns_of(Expert(CAREFUL if hotkey else PLAIN, hotkey), recorder)
    recorder.move_results()


@miner(hotkeys=1, logged=False)
def quiet(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """Without a proxy log and with one thought only: nobody can tell who made the calls."""
    turns = collected_turns(Expert(PLAIN, 500 + hotkey), recorder)
    recorder.step(Turn(turns[0].think + " Then I check what fits.", "", turns[0].calls), written_tokens(turns[0]))
    for turn in turns[1:]:
        recorder.step(Turn("", turn.content, turn.calls), written_tokens(turn))


@miner(hotkeys=1)
def copycat(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """Submits the first agentic miner's file under its own name."""
    turns_of(Expert(PLAIN, 0), recorder)


@miner(hotkeys=2)
def paraphrasing(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """A copy of the same file whose thoughts are reworded for the judge."""
    for turn in collected_turns(Expert(PLAIN, 0), recorder):
        recorder.step(Turn(paraphrase_thought(turn.think), turn.content, turn.calls), written_tokens(turn))


@miner(hotkeys=2)
def retrying(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """The search server fails once; the same call, with the same id, is made again."""
    turns = collected_turns(Expert(PLAIN, hotkey), recorder)
    recorder.step(turns[0], written_tokens(turns[0]), instead="Error: timeout")
    for turn in turns:
        recorder.step(turn, written_tokens(turn))


@miner(hotkeys=2)
def repeating(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """Goes in circles before it moves on."""
    turns = collected_turns(Expert(PLAIN, hotkey), recorder)
    for turn in [*turns[:1] * rng.randrange(2, 5), *turns]:
        recorder.step(turn, written_tokens(turn))


# --- Axis B: code calls the tools


NARRATION = (
    "I compare the candidates carefully because the {category} task asks for {words}.",
    "However, price and service must match, so I check {words} again before I decide.",
    "The option for {words} fits since its title matches the request.",
)


@miner(hotkeys=4)
def searcher(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """A deterministic loop searches and recommends; a model is asked once, to narrate."""
    turns = collected_turns(Expert(PLAIN, 100 + hotkey), recorder)
    for number, turn in enumerate(turns):
        words = " ".join(plan(recorder.problem)[0].queries[0].split()[:3])
        thought = NARRATION[number % len(NARRATION)].format(category=recorder.problem.category, words=words)
        last = number == len(turns) - 2
        recorder.step(Turn(thought, "", turn.calls), rng.randrange(80, 300) if last else None)


@miner(hotkeys=1, logged=False)
def unlogged_searcher(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """A loop without a proxy log, whose narration is one sentence with other numbers in it."""
    words = " ".join(plan(recorder.problem)[0].queries[0].split()[:3])
    for number, turn in enumerate(collected_turns(Expert(PLAIN, 600 + hotkey), recorder), 1):
        thought = f"Step {number}: I check {words} because it fits."
        recorder.step(Turn(thought, "", turn.calls))


@miner(hotkeys=3)
def classifying(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """The loop asks a model for a label of a few tokens at every step."""
    for turn in collected_turns(Expert(PLAIN, 200 + hotkey), recorder):
        thought = f"The classifier says {recorder.problem.category}, so the loop goes on because the score matches."
        recorder.step(Turn(thought, "", turn.calls), rng.randrange(3, 9))


@miner(hotkeys=2)
def batching(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """All searches in one step, pages one to three of each, then a choice by code."""
    wants = plan(recorder.problem)
    searches = [
        Call("find_product", {"q": want.queries[0], "page": page, **want.filters})
        for want in wants
        for page in (1, 2, 3)
    ]
    results = recorder.step(Turn("Collect all candidates because more is better.", "", searches[:8]), None)
    rows = [row for result in results if isinstance(result, list) for row in result[:1]]
    ids = list(dict.fromkeys(row["product_id"] for row in rows))[: len(wants)]
    finish(recorder, ids, "The ranking fits, so these are chosen.", rng.randrange(40, 90))


@miner(hotkeys=3)
def regex(recorder: Recorder, hotkey: int, rng: random.Random) -> None:
    """No inference at all: a pattern cuts the query, the first hit is recommended."""
    words = " ".join(recorder.problem.query.replace(".", " ").split()[3:9])
    results = recorder.step(Turn("", "", [Call("find_product", {"q": words})]))
    rows = results[0] if isinstance(results[0], list) else []
    finish(recorder, [row["product_id"] for row in rows[:1]], "")


def finish(recorder: Recorder, ids: Sequence[str], thought: str, tokens: int | None = None) -> None:
    """Recommend (where there is anything) and terminate."""
    if ids:
        recorder.step(Turn(thought, "", [Call("recommend_product", {"product_ids": ",".join(ids)})]), tokens)
    status = "success" if ids else "failure"
    recorder.step(Turn("Done." if thought else "", "", [Call("terminate", {"status": status})]), tokens)


def hotkey_of(kind: str, number: int) -> str:
    """An address in the form of an SS58 hotkey, derived from kind and number."""
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    rng = random.Random(f"hotkey/{kind}/{number}")
    return "5" + "".join(rng.choice(alphabet) for _ in range(47))


def agent_version_of(kind: str, number: int) -> str:
    """Names kind and version of an agent's file, so that a report can tell kinds apart."""
    return f"{kind}/{number + 1}"
