"""YAML 1.2 documents as plain data: `1e-5`, `1.0e-5` and `0.00001` are one float, as DVC reads them."""

import json
import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tracemill.errors import ParamsError

PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9./_@{}=+-]*(?: [A-Za-z0-9./_@{}=+-]+)*")
RESERVED = frozenset({"true", "false", "yes", "no", "on", "off", "null", "nan", "y", "n"})


def read_yaml(path: Path) -> Any:
    """Content of a YAML file; ParamsError names file and line of what is no YAML."""
    try:
        return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParamsError(f"{path}: cannot be read ({error.strerror})") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: not a YAML document: {' '.join(str(error).split())[:300]}") from error


def render_yaml(value: Any, indent: int = 0) -> str:
    """`value` (mappings, lists, scalars) as YAML in block style, keys in the order given.

    Much faster than a general writer, which matters at a thousand stages; a scalar is plain only where that is safe.
    """
    pad = " " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{pad}{_scalar(key)}:{_nested(inner, indent + 2)}" for key, inner in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{pad}- {render_yaml(item, indent + 2).lstrip(' ')}" for item in value)
    return f"{pad}{_scalar(value)}\n"


def _nested(value: Any, indent: int) -> str:
    if isinstance(value, dict | list) and value:
        return "\n" + render_yaml(value, indent)
    return f" {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in RESERVED:
        return value
    return json.dumps(value, ensure_ascii=False)


def lookup(document: Any, dotted: str) -> Any:
    """The value at a dotted path (`corpus.gates`); KeyError with the path when there is none."""
    value = document
    for key in dotted.split("."):
        if not isinstance(value, dict) or key not in value:
            raise KeyError(dotted)
        value = value[key]
    return value
