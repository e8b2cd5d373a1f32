"""params.yaml: one loader, one schema, one line per mistake.

The file is read as YAML 1.2 (so `1e-5`, `1.0e-5` and `0.00001` are one float). Each package declares the model of its
own section in `<package>/params.py` (`ArenaParams` in arena/params.py for `arena:` and so on); this module puts them
together and says where a wrong value stands and what comes nearest. Stages never import it: a new key of one package is
no reason to run the stages of another.
"""

import difflib
import importlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

import tracemill
from tracemill.document import read_yaml
from tracemill.errors import ParamsError
from tracemill.snapshots import SnapshotName, SnapshotParams

PARAMS = Path("params.yaml")
UNSEEN_BY_DVC = ("size", "nfiles")  # dvc#10296: a parameter of this name can change without its stage becoming stale


def load_params(path: Path = PARAMS) -> dict[str, Any]:
    """Content of params.yaml as plain data, checked against the schema; ParamsError names the first mistake."""
    if not path.exists():
        raise ParamsError(f"{path}: no such file; run this in the folder of a project")
    document = read_yaml(path)
    check_params(document, path)
    return dict(document)


def check_params(document: Any, path: Path = PARAMS) -> None:
    """Raise ParamsError for the first wrong value of a loaded params.yaml."""
    if not isinstance(document, dict):
        raise ParamsError(f"{path}: expected a mapping of sections, found {type(document).__name__}")
    for dotted in _keys(document, ()):
        if dotted[-1] in UNSEEN_BY_DVC:
            raise ParamsError(f"{path}: {'.'.join(dotted)}: the name {dotted[-1]!r} is not tracked by DVC; use another")
    if not document.get("snapshots"):
        raise ParamsError(f"{path}: snapshots: the list is empty; name at least one, e.g. `sim-a: {{source: 'sim:'}}`")
    schema = root_model()
    try:
        schema.model_validate_json(json.dumps(document))
    except ValidationError as error:
        raise ParamsError(_explain(error, schema, document, path)) from error
    except TypeError as error:
        raise ParamsError(
            f"{path}: a value is neither number, text, list nor mapping: {error} (quote dates)"
        ) from error


@cache
def root_model() -> type[BaseModel]:
    """The schema of the whole file, put together from the packages' own models."""
    fields: dict[str, Any] = {"snapshots": (dict[SnapshotName, SnapshotParams], ...)}
    for package in _packages():
        fields[package] = _section(package)
    fields["profiles"] = (dict[str, dict[str, Any]], {})
    return create_model("Params", __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def _packages() -> list[str]:
    """Packages of tracemill that bring a section of their own."""
    folders = (Path(entry) for entry in tracemill.__path__)
    return sorted(path.parent.name for folder in folders for path in folder.glob("*/params.py"))


def _section(package: str) -> tuple[Any, Any]:
    """The model of a package's section; a section that consists of defaults alone may be left out of the file."""
    model = getattr(importlib.import_module(f"tracemill.{package}.params"), f"{package.capitalize()}Params", None)
    if model is None:  # the package checks its section by itself
        return dict[str, Any], {}
    try:
        return model, model()
    except ValidationError:
        return model, ...


def _keys(value: Any, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*prefix, str(key))
            yield from _keys(inner, (*prefix, str(key)))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _keys(inner, (*prefix, str(position)))


def _explain(error: ValidationError, schema: type[BaseModel], document: Any, path: Path) -> str:
    found = error.errors(include_url=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    location = [part for part in first["loc"] if part != "[key]"]
    known = _known_location(location, document)
    where = f"{path}{_line(path, known)}: {'.'.join(str(part) for part in known)}"
    if first["type"] == "extra_forbidden":
        name, siblings = str(location[-1]), sorted(_field_names(schema, location[:-1]))
        near = difflib.get_close_matches(name, siblings, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"valid names: {', '.join(siblings)}"
        return f"{where}: unknown name (value {json.dumps(first['input'])[:80]}); {advice}"
    if first["type"] == "missing":
        told = "snapshots.py" if known[0] == "snapshots" else f"{known[0]}/params.py"
        return f"{where}: missing; add it (src/tracemill/{told} says what it means)"
    said = first["msg"].removeprefix("Value error, ")
    if isinstance(first["input"], dict):
        return f"{where}: {said}"
    return f"{where}: {said}, found {json.dumps(first['input'], default=str)[:80]}"


def _known_location(location: list[Any], document: Any) -> list[Any]:
    """The location without pydantic's own marks (union branches), which are no keys of the document."""
    known: list[Any] = []
    value = document
    for position, part in enumerate(location):
        if (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        ):
            value = value[part]
        elif position < len(location) - 1:
            continue
        elif not isinstance(value, dict):
            break
        known.append(part)
    return known


def _field_names(schema: Any, location: list[Any]) -> set[str]:
    """Names of the fields of the model at `location`; unions give the names of all their members."""
    if not location:
        members = [schema] if isinstance(schema, type) else list(_models(schema))
        return {name for model in members if hasattr(model, "model_fields") for name in model.model_fields}
    names: set[str] = set()
    for model in [schema] if isinstance(schema, type) and issubclass(schema, BaseModel) else _models(schema):
        field = model.model_fields.get(str(location[0]))
        if field is not None:
            names |= _field_names(field.annotation, location[1:])
    if not names and get_origin(schema) in (dict, list):
        return _field_names(get_args(schema)[-1], location[1:])
    return names or (_field_names(schema, location[1:]) if not isinstance(schema, type) else names)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not None or get_origin(annotation) is Union:
        for inner in get_args(annotation):
            yield from _models(inner)


def _line(path: Path, location: list[Any]) -> str:
    from ruamel.yaml import YAML

    try:
        node = YAML(typ="rt").load(path.read_text(encoding="utf-8"))
        line = None
        for part in location:
            if part not in node and not isinstance(node, list):
                break
            line = node.lc.data[part][0] + 1
            node = node[part]
    except (OSError, AttributeError, KeyError, TypeError, IndexError):
        return ""
    return f" line {line}" if line else ""
