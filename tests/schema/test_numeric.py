"""The step of a grid that an error proposes is one that works."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import Fix, ParameterError
from discreet.schema import Real


@pytest.mark.parametrize(
    ("lo", "hi", "step"),
    [(0, 1, 2), (0, 1, "1e-13"), (10**15, 10**15 + 1000, "0.25"), (10**15, 10**16, "1e-13"), (0, "1e-6", 1)],
)
def test_the_step_that_an_error_proposes_works(lo: Any, hi: Any, step: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        Real(lo, hi, step)
    (fix,) = (fix for fix in refused.value.fixes if isinstance(fix, Fix))
    assert Real(lo, hi, **{fix.parameter: fix.value}).levels > 1


def test_no_step_is_proposed_where_none_works() -> None:
    with pytest.raises(ParameterError, match="finer than floating-point") as refused:
        Real(10**15, 10**15 + 1, "0.25")
    assert not [fix for fix in refused.value.fixes if isinstance(fix, Fix)]
