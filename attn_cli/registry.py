"""File name = plug-in name: families, formats, metrics and renderers are found by the names of their modules."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType


@cache
def names(package: str) -> tuple[str, ...]:
    """Sorted names of the plug-ins in `attn_cli.<package>`; modules that begin with an underscore are not plug-ins."""
    path = importlib.import_module(f"attn_cli.{package}").__path__
    return tuple(sorted(m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_")))


def get(package: str, name: str) -> ModuleType:
    """The plug-in module `attn_cli.<package>.<name>`; KeyError unless it is one of `names(package)`.

    Membership is tested first because names come from untrusted files (`model_type` of a config).
    """
    if name not in names(package):
        raise KeyError(name)
    return importlib.import_module(f"attn_cli.{package}.{name}")
