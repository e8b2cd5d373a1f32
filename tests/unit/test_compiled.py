"""Compiled loops where there is no folder to cache them in."""

from tracemill.compiled import compiled


def test_a_function_that_cannot_be_cached_is_compiled_all_the_same():
    space = {}
    exec("def double(x):\n    return 2 * x\n", space)  # numba finds no file beside which it could cache this one
    double = compiled(space["double"])
    assert double(21) == 42
    assert double.signatures
