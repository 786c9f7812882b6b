"""A plugin for pytest: the first example that fails catches a mutant, so hypothesis looks for no smaller one."""

from __future__ import annotations

import hypothesis
import pytest


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.register_profile(
        "hasty", phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate], database=None
    )
    hypothesis.settings.load_profile("hasty")
