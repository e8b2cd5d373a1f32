"""Eight bytes of an array at once, for compiled code: numba itself reads an array element by element."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def load_word(typing: Any, buf: Any, position: Any) -> Any:
    """The eight bytes of `buf` from `position` on as one number, the first the lowest; any alignment will do."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_word_pointer(context, builder, signature, args), align=1)

    return types.uint64(buf, position), generate


@intrinsic  # type: ignore[untyped-decorator]
def store_word(typing: Any, buf: Any, position: Any, word: Any) -> Any:
    """The reverse of `load_word`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _word_pointer(context, builder, signature, args), align=1)
        return context.get_dummy_value()

    return types.void(buf, position, types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(typing: Any, word: Any) -> Any:
    """Zero bits below the lowest one; `word` must not be zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.true_bit)

    return types.uint64(types.uint64), generate


def _word_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.bitcast(builder.gep(data, [args[1]]), context.get_value_type(types.uint64).as_pointer())
