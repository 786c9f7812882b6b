"""Describe events: a side of a threshold, one of many values, a value cut to a short length."""

from __future__ import annotations

from discreet.audit.attacks.outcomes import written


def entry(j: int, width: int) -> str:
    """Return the name of a number in an answer.

    >>> entry(0, 1), entry(0, 3)
    ('the number', 'entry 0')
    """
    return "the number" if width == 1 else f"entry {j}"


def side(threshold: float, above: bool) -> str:
    """Describe a side of a threshold.

    >>> side(0.5, True)
    '0.5 or more'
    """
    return f"{threshold:.6g} or more" if above else f"below {threshold:.6g}"


def listed(labels: list[str]) -> str:
    """Return at most five of the labels.

    >>> listed(["a", "b"]), listed([])
    ('a or b', 'none')
    """
    if len(labels) > 5:
        labels = [*labels[:4], f"one of {len(labels) - 4} others"]
    return ", ".join(labels[:-1]) + " or " * (len(labels) > 1) + (labels[-1] if labels else "none")


def shortened(value: object) -> str:
    """Return the repr, cut to 40 characters.

    >>> shortened("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"
    """
    shown = written(value)
    return shown if len(shown) <= 40 else f"{shown[:39]}…"
