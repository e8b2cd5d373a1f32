"""The loop that plays many episodes: order, outcomes, resume."""

import asyncio

import pytest

from tracemill.environment.episode import Call, Episode, Turn
from tracemill.environment.params import PlayParams
from tracemill.environment.problem import Problem
from tracemill.errors import InputError, StageError
from tracemill.evaluation.collect import Arena, collect, make_jobs, require_sound
from tracemill.evaluation.journal import Journal
from tracemill.evaluation.policies import Reply, Sampling, ScriptedPolicy
from tracemill.evaluation.records import hallucinated_ids, read_records, write_records
from tracemill.evaluation.rollouts import play

PRODUCTS = {
    "p1": {"product_id": "p1", "shop_id": "s1", "title": "red shoe", "price": 10.0, "service": [], "sold_count": 1},
    "p2": {"product_id": "p2", "shop_id": "s2", "title": "blue shoe", "price": 20.0, "service": [], "sold_count": 1},
}


class Shelf:
    """A catalogue of two products that answers every search with both."""

    def find_product(self, q="", **_):
        if q == "boom":
            raise InputError("http://shop/find_product: status 500, expected 200")
        return list(PRODUCTS.values())

    def view_product_information(self, product_ids):
        return []

    def get_product_raw(self, product_id):
        return PRODUCTS.get(product_id)


def problem(number, gold="p1"):
    return Problem(
        f"t{number}", "product", f"shoe {number}", {"product_id": gold, "price": [{"less than": [None, 15]}]}
    )


class Solver:
    """Searches, recommends p1, terminates; `errors` maps a problem to the turn it plays instead of the search."""

    def __init__(self, errors=None):
        self.errors = errors or {}
        self.asked = []

    def act(self, problem, results):
        self.asked.append((problem.problem_id, len(results)))
        if not results:
            return self.errors.get(problem.problem_id) or Turn("look", "", [Call("find_product", {"q": "shoe"})])
        name, arguments = [("recommend_product", {"product_ids": "p1"}), ("terminate", {"status": "success"})][
            len(results) - 1
        ]
        return Turn("act", "", [Call(name, arguments)])


ARENA = Arena(Shelf(), PlayParams())


def test_all_live_episodes_are_asked_once_a_turn_in_their_order():
    solver = Solver({"t1": Turn(error="truncated")})
    episodes = [Episode(Shelf(), problem(i)) for i in range(3)]
    replies = play(ScriptedPolicy(solver), episodes, Sampling())
    assert solver.asked == [("t0", 0), ("t1", 0), ("t2", 0), ("t0", 1), ("t2", 1), ("t0", 2), ("t2", 2)]
    assert [e.outcome for e in episodes] == ["terminated", "policy_error", "terminated"]
    assert [len(r) for r in replies] == [3, 1, 3]


@pytest.mark.parametrize(
    ("turn", "outcome"),
    [
        (Turn(error="truncated"), "truncated"),
        (Turn(error="refusal"), "refusal"),
        (Turn(error="timeout"), "timeout"),
        (Turn(error="malformed_call"), "malformed_call"),
        (Turn(error="context_limit"), "context_limit"),
        (Turn("hm", "I am done."), "no_call"),
        (Turn("look", "", [Call("find_product", {"q": "boom"})]), "environment_error"),
    ],
)
def test_what_goes_wrong_is_the_outcome_of_its_episode_alone(turn, outcome):
    records = collect(ScriptedPolicy(Solver({"t0": turn})), make_jobs([problem(0), problem(1)], 1, Sampling()), ARENA)
    assert [r.outcome for r in records] == [outcome, "terminated"]
    assert [r.success for r in records] == [False, True]


def test_a_record_says_what_was_scored_and_what_it_cost():
    turn = Turn("?", "", [Call("find_goods", {"q": "x"}), Call("recommend_product", {"product_ids": "p9, p1"})])
    record = collect(ScriptedPolicy(Solver({"t0": turn})), make_jobs([problem(0)], 1, Sampling()), ARENA)[0]
    assert record.tool_errors == {"unknown_tool": 1}
    assert record.hallucinated == ["p1", "p9"]
    assert (record.recommended, record.success, record.steps, record.calls) == (["p1"], True, 3, 4)
    assert record.score["rule"] == 1


def test_ids_that_were_shown_or_asked_for_are_not_invented():
    def call(name, ids):
        function = {"name": name, "arguments": {"product_ids": ids}}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": function}]}

    messages = [
        {"role": "user", "content": "compare p7"},
        call("view_product_information", "p7,p8"),
        {"role": "tool", "content": "p1 | red shoe | 10"},
        call("recommend_product", "p1"),
    ]
    assert hallucinated_ids(messages) == ["p8"]


def test_samples_of_one_problem_have_keys_of_their_own():
    keys = [job.key for job in make_jobs([problem(0), problem(1)], 2, Sampling())]
    assert keys == ["t0#0", "t0#1", "t1#0", "t1#1"]
    with pytest.raises(ValueError, match="distinct keys"):
        play(ScriptedPolicy(Solver()), [Episode(Shelf(), problem(0))] * 2, Sampling(), ["a", "a"])


class Dies(Solver):
    """Stops the run, as a kill would, when it meets problem `at`."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def act(self, problem, results):
        if problem.problem_id == self.at:
            raise KeyboardInterrupt
        return super().act(problem, results)


def test_a_killed_batched_run_repeats_one_wave_at_most_and_ends_with_the_same_records(tmp_path):
    jobs = make_jobs([problem(i) for i in range(6)], 1, Sampling())
    whole = collect(ScriptedPolicy(Solver()), jobs, ARENA)
    with Journal(tmp_path / "j.jsonl") as journal, pytest.raises(KeyboardInterrupt):
        collect(ScriptedPolicy(Dies("t4")), jobs, ARENA, journal, wave=2)
    again = Solver()
    with Journal(tmp_path / "j.jsonl") as journal:
        assert collect(ScriptedPolicy(again), jobs, ARENA, journal, wave=2) == whole
    assert {name for name, _ in again.asked} == {"t4", "t5"}


def test_a_line_cut_by_a_kill_is_dropped_and_overwritten(tmp_path):
    jobs = make_jobs([problem(i) for i in range(2)], 1, Sampling())
    with Journal(tmp_path / "j.jsonl") as journal:
        whole = collect(ScriptedPolicy(Solver()), jobs, ARENA, journal, wave=1)
    data = (tmp_path / "j.jsonl").read_bytes()
    (tmp_path / "j.jsonl").write_bytes(data[:-20])
    with Journal(tmp_path / "j.jsonl") as journal:
        assert list(journal.records) == ["t0#0"]
        assert collect(ScriptedPolicy(Solver()), jobs, ARENA, journal, wave=1) == whole
    assert (tmp_path / "j.jsonl").read_bytes() == data


class Server:
    """A concurrent policy over a script; remembers how many turns were under way at once."""

    name, concurrency = "server", 3

    def __init__(self, actor):
        self.actor, self.now, self.most, self.closed = actor, 0, 0, 0

    async def act_one(self, request):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001 * (5 - int(request.key[1])) if request.key[1].isdigit() else 0)
        self.now -= 1
        return Reply(self.actor.act(request.episode.problem, request.episode.results))

    async def aclose(self):
        self.closed += 1


def test_a_server_plays_a_bounded_number_of_episodes_at_once_and_the_order_stays():
    server = Server(Solver())
    jobs = make_jobs([problem(i) for i in range(6)], 1, Sampling())
    assert [r.key for r in collect(server, jobs, ARENA)] == [job.key for job in jobs]
    assert (server.most, server.closed) == (3, 1)


def test_a_server_is_never_asked_again_for_an_episode_that_ended(tmp_path):
    jobs = make_jobs([problem(i) for i in range(6)], 1, Sampling())
    with Journal(tmp_path / "j.jsonl") as journal, pytest.raises(KeyboardInterrupt):
        collect(Server(Dies("t5")), jobs, ARENA, journal)
    with Journal(tmp_path / "j.jsonl") as journal:
        finished = set(journal.records)
        again = Solver()
        collect(Server(again), jobs, ARENA, journal)
    assert finished
    assert not {name for name, _ in again.asked} & {key[:2] for key in finished}


def test_records_survive_the_file_byte_for_byte(tmp_path):
    records = collect(ScriptedPolicy(Solver()), make_jobs([problem(0)], 2, Sampling()), ARENA)
    write_records(records, tmp_path / "a.zst")
    write_records(read_records(tmp_path / "a.zst"), tmp_path / "b.zst")
    assert read_records(tmp_path / "a.zst") == records
    assert (tmp_path / "a.zst").read_bytes() == (tmp_path / "b.zst").read_bytes()


def test_a_damaged_file_of_records_is_named(tmp_path):
    (tmp_path / "a.zst").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"a\.zst"):
        read_records(tmp_path / "a.zst")


def test_faults_of_a_server_are_played_again_and_too_many_fail_the_stage(tmp_path):
    jobs = make_jobs([problem(i) for i in range(4)], 1, Sampling())
    with Journal(tmp_path / "j.jsonl") as journal:
        records = collect(Server(Solver({"t1": Turn(error="timeout")})), jobs, ARENA, journal)
        assert sorted(journal.records) == ["t0#0", "t2#0", "t3#0"]
        with pytest.raises(StageError, match=r"1 of 4 episodes .*'timeout': 1"):
            require_sound(records, 0.2)
        require_sound(records, 0.25)
        again = Solver()
        assert all(r.success for r in collect(Server(again), jobs, ARENA, journal))
    assert {name for name, _ in again.asked} == {"t1"}
