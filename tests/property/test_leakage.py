"""Properties of the leak guard, over generated problems."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from tracemill.environment.problem import Problem
from tracemill.leakage.clusters import find_clusters
from tracemill.leakage.edges import find_edges
from tracemill.leakage.join import dice_pairs
from tracemill.leakage.ledger import entry_of, promised_pools
from tracemill.leakage.nodes import build_nodes
from tracemill.leakage.normalise import content_tokens
from tracemill.leakage.params import PoolParams, SimilarityParams
from tracemill.leakage.pools import TRAIN
from tracemill.leakage.split import assign_pools
from tracemill.leakage.vocabulary import PHRASES

WORDS = ["red", "blue", "mug", "cup", "steel", "clay", "lid", "12", "50ml", "sofa", "lamp", "wood"]
token_sets = st.lists(st.frozensets(st.sampled_from("abcdefghijklmn"), max_size=9), max_size=25)
problems = st.lists(
    st.builds(
        lambda i, words, golds: Problem(f"p{i}", "shop", " ".join(words), [{"product_id": g} for g in golds]),
        st.integers(0, 5),
        st.lists(st.sampled_from(WORDS), max_size=5),
        st.lists(st.sampled_from([str(n) for n in range(25)]), max_size=2),
    ),
    max_size=14,
)
RATIOS = st.sampled_from([(3, 5), (1, 2), (4, 5), (1, 1), (2, 7)])
SPLIT = PoolParams(never_touch=0.2, eval=0.5)


def _split(some, protected=()):
    nodes = build_nodes(some, protected)
    edges = find_edges(nodes, SimilarityParams())
    clusters = find_clusters((n.key for n in nodes), edges)
    pools = assign_pools(nodes, clusters, SPLIT)
    return nodes, edges, clusters, {key: pools[name] for key, name in clusters.items()}


@given(token_sets, RATIOS)
@settings(max_examples=300, deadline=None)
def test_the_join_is_brute_force(sets, ratio):
    top, bottom = ratio
    expected = [
        (i, j, len(sets[i] & sets[j]))
        for i in range(len(sets))
        for j in range(i + 1, len(sets))
        if sets[i] and sets[j] and 2 * bottom * len(sets[i] & sets[j]) >= top * (len(sets[i]) + len(sets[j]))
    ]
    assert dice_pairs(sets, top, bottom) == expected


@given(token_sets)
@settings(max_examples=100, deadline=None)
def test_the_join_agrees_with_rapidfuzz_up_to_its_rounding(sets):
    lists = [sorted(tokens) for tokens in sets]
    found = {(i, j) for i, j, _ in dice_pairs(lists)}
    for i, left in enumerate(lists):
        for j in range(i + 1, len(lists)):
            if left and lists[j]:
                score = Indel.normalized_similarity(left, lists[j])
                assert ((i, j) in found) == (score >= 0.6 - 1e-9)


@given(problems, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_order_and_repetition_do_not_matter(some, random):
    shuffled = [*some, *some[: len(some) // 2]]
    random.shuffle(shuffled)
    assert _split(shuffled) == _split(some)


@given(problems, problems, problems)
@settings(max_examples=100, deadline=None)
def test_a_held_out_problem_never_returns_to_train_when_snapshots_are_added(first, second, third):
    seen = {}
    for snapshots in (first, [*second, *first], [*first, *third, *second]):
        pools = _split(snapshots)[3]
        assert all(pools[key] != TRAIN for key in seen)
        seen |= {key: pool for key, pool in pools.items() if pool != TRAIN}


@given(problems, problems)
@settings(max_examples=100, deadline=None)
def test_what_the_ledger_holds_and_its_like_stay_out_of_train_when_snapshots_are_removed(removed, left):
    before, _, _, pools = _split([*removed, *left])
    ledger = [entry_of(node, pools[node.key]) for node in before if pools[node.key] != TRAIN]
    nodes = build_nodes(left)
    clusters = find_clusters((n.key for n in nodes), find_edges(nodes, SimilarityParams()))
    hold = PoolParams(never_touch=0.0, eval=0.0, ledger="hold")
    held = assign_pools(nodes, clusters, hold, promised_pools(nodes, ledger, SimilarityParams()))
    train = {n.key for n in nodes if held[clusters[n.key]] == TRAIN}
    promised = {entry.problem for entry in ledger}
    assert not train & promised
    gone = promised - {n.key for n in nodes}
    for edge in find_edges(before, SimilarityParams()):
        assert not ({edge.a, edge.b} & gone and {edge.a, edge.b} & train)


@given(problems, problems)
@settings(max_examples=100, deadline=None)
def test_no_cluster_gold_or_protected_problem_crosses_into_train(corpus, protected):
    nodes, edges, clusters, pools = _split(corpus, protected)
    assert all(pools[edge.a] == pools[edge.b] for edge in edges)
    golds = {side: {g for n in nodes if (pools[n.key] == TRAIN) is side for g in n.gold_ids} for side in (True, False)}
    assert not golds[True] & golds[False]
    guarded = {clusters[n.key] for n in nodes if n.protected}
    assert all((pools[n.key] == "benchmark") == (clusters[n.key] in guarded) for n in nodes)


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_has_sorted_distinct_tokens(text):
    tokens = content_tokens(text)
    assert list(tokens) == sorted(set(tokens))
    assert all(tokens)
    "".join(tokens).encode()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_order_case_and_invisible_characters_do_not_change_the_tokens(words, random):
    disguised = [random.choice([w.upper(), w[:1] + "\u00ad" + w[1:], w + "\u200b", w.title()]) for w in words]
    random.shuffle(disguised)
    assert content_tokens("  ".join(disguised)) == content_tokens(" ".join(words))


@given(st.data(), st.sampled_from(PHRASES))
def test_every_match_of_a_phrase_holds_one_of_its_texts(data, phrase):
    pattern, _, texts = phrase
    found = data.draw(st.from_regex(pattern, fullmatch=True))
    assert any(text in found for text in texts)
