"""Who may import whom: a module imports only from lower ranks, and from siblings in its own folder."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "attn_cli"
RANKS = {
    "errors": 0, "registry": 0,
    "spec": 1, "config": 1, "tokens": 1, "select": 1, "report": 1,
    "checkpoint": 2, "families": 2,
    "model": 3,
    "metrics": 4, "collect": 4,
    "commands": 5,
    "render": 6,
    "options": 7, "streams": 7, "progress": 7, "asked": 7, "cli": 7, "__main__": 7, "__init__": 7,
}  # fmt: skip
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = {"numpy", "tokenizers", "rich", "orjson", "torch", "gguf", "huggingface_hub"}


def unit(module: Path) -> str:
    """The ranked unit a module belongs to: its folder, or its own name at the top."""
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports(module: Path, *, top_only: bool = False) -> list[tuple[str, bool]]:
    """(module imported, only for type checking) of every import statement."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    typing_only: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            typing_only.update(inner for part in node.body for inner in ast.walk(part))
    found = []
    for node in tree.body if top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node in typing_only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level < 2, f"{module}: import from outside its folder must be absolute"
            if node.level:
                continue
            names = (
                [f"{node.module}.{a.name}" for a in node.names] if node.module == "attn_cli" else [node.module or ""]
            )
            found += [(name, node in typing_only) for name in names]
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_imports_go_down(module: Path) -> None:
    own = unit(module)
    assert own in RANKS, f"{own} has no rank"
    for name, typing_only in imports(module):
        if not name.startswith("attn_cli") or typing_only:
            continue
        other = name.split(".")[1] if "." in name else "__init__"
        if other in ("__version__",):
            continue
        allowed = other == own or RANKS[other] < RANKS[own] or (RANKS[other] == RANKS[own] and own not in FOLDERS)
        assert allowed or own in ("__main__", "cli"), f"{module.name} ({own}) imports {name}"


FOLDERS = {p.name for p in PACKAGE.iterdir() if p.is_dir()}


def test_families_import_no_numpy() -> None:
    for module in (PACKAGE / "families").glob("*.py"):
        assert not [n for n, _ in imports(module) if n.split(".")[0] in HEAVY], module.name


def test_commands_and_renderers_never_see_each_other() -> None:
    for here, there in (("commands", "render"), ("render", "commands")):
        for module in (PACKAGE / here).glob("*.py"):
            assert not [n for n, _ in imports(module) if n.startswith(f"attn_cli.{there}")], module.name


@pytest.mark.parametrize(
    "name",
    ["__init__", "__main__", "cli", "options", "errors", "registry", "report", "spec", "tokens", "select"],
)
def test_the_top_modules_import_nothing_heavy_when_loaded(name: str) -> None:
    heavy = [
        n for n, typing in imports(PACKAGE / f"{name}.py", top_only=True) if n.split(".")[0] in HEAVY and not typing
    ]
    assert not heavy


def test_no_module_asserts_prints_or_catches_everything() -> None:
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            assert not isinstance(node, ast.Assert), f"{module.name}:{node.lineno} asserts"
            assert not (isinstance(node, ast.ExceptHandler) and node.type is None), f"{module.name}:{node.lineno}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "eval", "exec"), f"{module.name}:{node.lineno} {node.func.id}"
