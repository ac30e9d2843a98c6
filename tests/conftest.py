"""Tests marked `real` need a folder of trained models; without one they are not collected at all, and that is said."""

from __future__ import annotations

import os

import pytest

MODELS = "ATTN_CLI_REAL_MODELS"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get(MODELS):
        return
    real = [item for item in items if item.get_closest_marker("real")]
    if real:
        config.hook.pytest_deselected(items=real)
        items[:] = [item for item in items if item not in real]


def pytest_report_header() -> str:
    return f"real models: {os.environ.get(MODELS) or f'none ({MODELS} is not set)'}"
