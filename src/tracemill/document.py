"""YAML 1.2 documents as plain data: `1e-5`, `1.0e-5` and `0.00001` are one float, as DVC reads them."""

from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tracemill.errors import ParamsError


def read_yaml(path: Path) -> Any:
    """Content of a YAML file; ParamsError names file and line of what is no YAML."""
    try:
        return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParamsError(f"{path}: cannot be read ({error.strerror})") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ParamsError(f"{path}: not a YAML document: {' '.join(str(error).split())[:300]}") from error


def render_yaml(value: Any) -> str:
    """`value` as YAML in block style, keys in the order given."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 4096
    out = StringIO()
    yaml.dump(value, out)
    return out.getvalue()


def lookup(document: Any, dotted: str) -> Any:
    """The value at a dotted path (`corpus.gates`); KeyError with the path when there is none."""
    value = document
    for key in dotted.split("."):
        if not isinstance(value, dict) or key not in value:
            raise KeyError(dotted)
        value = value[key]
    return value
