"""The code a stage depends on: its script and the modules of our package that the script really imports."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tracemill.own_code import SOURCE

PACKAGE = "tracemill"
LEARNING = frozenset({"torch", "transformers", "trl", "accelerate", "peft", "lm_eval"})
READS_DATA = ("importlib.resources", "__file__", "resources.files")


@dataclass(frozen=True)
class Code:
    """Files a script stands on, and whether it reaches one of the learning libraries (their versions change bytes)."""

    files: list[str]
    learns: bool


class ImportGraph:
    """Imports of the project's own package, found without importing it."""

    @cached_property
    def _graph(self) -> Any:
        import grimp

        cache = Path(".tracemill/grimp")
        cache.mkdir(parents=True, exist_ok=True)
        return grimp.build_graph(PACKAGE, include_external_packages=True, cache_dir=str(cache))

    def code_of(self, script: Path) -> Code:
        """Script, modules and their data files, sorted; packages that hold only a docstring are left out."""
        direct, external = self._imports(script)
        reached = set(direct)
        for module in direct:
            reached |= self._graph.find_upstream_modules(module)
        ours = {module for module in reached if module.split(".")[0] == PACKAGE}
        external |= {module.split(".")[0] for module in reached - ours}
        files = {script.as_posix()}
        for module in ours | _packages(ours):
            path = _file(module)
            if path.name != "__init__.py" or _does_something(path):
                files.add(path.as_posix())
                files |= _data_files(path)
        return Code(files=sorted(files), learns=bool(external & LEARNING))

    def _imports(self, script: Path) -> tuple[set[str], set[str]]:
        names: set[str] = set()
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"), filename=str(script))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        ours = {name for name in names if name in self._graph.modules and name.split(".")[0] == PACKAGE}
        return ours, {name.split(".")[0] for name in names if name.split(".")[0] != PACKAGE}


def _packages(modules: set[str]) -> set[str]:
    parts = [module.split(".") for module in modules]
    return {".".join(names[:depth]) for names in parts for depth in range(1, len(names))}


def _file(module: str) -> Path:
    path = SOURCE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _does_something(path: Path) -> bool:
    """Whether a package's `__init__.py` holds more than its docstring and a version."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(
        not isinstance(node, ast.Expr | ast.Assign) or "__version__" not in ast.unparse(node) for node in body[1:]
    )


def _data_files(module: Path) -> set[str]:
    """Files beside a module that reads package data: templates, word lists."""
    text = module.read_text(encoding="utf-8")
    if not any(mark in text for mark in READS_DATA):
        return set()
    inside = (path for path in module.parent.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.as_posix() for path in inside if path.suffix not in (".py", ".typed") and _named(path, module, text)}


def _named(path: Path, module: Path, text: str) -> bool:
    parts = path.relative_to(module.parent).parts
    return any(f'"{part}"' in text or f"/{part}" in text or f'{part}"' in text for part in parts)
