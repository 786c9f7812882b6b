"""Draw pictures for pages as SVG text: intervals as bars, a line with its band, and the share of a budget.

A picture has classes and no style of its own, so that the page's stylesheet gives it the colours of light and dark
under a policy without inline styles. It has a title for screen readers, labels are escaped, bars go below zero
where noise does, and nothing is clipped. It takes a fraction of a millisecond; `charts` draws pictures for files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from discreet.render.html import trusted
from discreet.render.numbers import number
from discreet.render.terminal import plain

WIDTH = 520
_RIGHT, _TOP, _STEP = 22, 10, 28
_LONGEST = 22  # characters of a label
_LETTER = 8.6  # the width of a letter on a phone, where pages write labels larger (17 pixels)
_APART = 76  # pixels between the labels of a line


class Bar(NamedTuple):
    """A label, its value with its interval, and what is written behind it."""

    label: str
    value: float | None
    low: float
    high: float
    words: str = ""


def bars(rows: Sequence[Bar], title: str, scale: tuple[float, float] | None = None) -> str:
    """Draw values with their intervals, one bar below the other. A value without an interval has no whisker.

    Args:
        rows: The values.
        title: What the picture shows, for screen readers.
        scale: The ends of the axis, where several pictures share one; what the values need by default.

    >>> drawn = bars([Bar("Oslo", 12.0, 8.0, 16.0), Bar("<b>", -3.0, -7.0, 1.0)], "Visits by city")
    >>> drawn.count('class="bar"'), "&lt;b&gt;" in drawn, "style" in drawn
    (2, True, False)
    """
    known = [row for row in rows if math.isfinite(row.low) and math.isfinite(row.high)]
    low = min(0.0, *(row.low for row in known)) if known else 0.0
    high = max(0.0, *(row.high for row in known)) if known else 1.0
    low, high = scale or (low, high)
    height = _TOP + _STEP * len(known) + 26
    left = 16 + _LETTER * max((len(_cut(row.label)) for row in known), default=0)
    along = (WIDTH - left - _RIGHT) / ((high - low) or 1)

    def x(value: float) -> str:
        return _short(left + (value - low) * along)

    axis = _TOP + _STEP * len(known)
    parts = [_begin(title, height)]
    for tick in ticks(low, high):
        parts.append(f'<path class="grid" d="M{x(tick)} {_TOP}V{axis}"/>')
        parts.append(
            f'<text class="tick" x="{x(tick)}" y="{axis + 18}" text-anchor="middle">{number(tick)}</text>'
        )
    for i, row in enumerate(known):
        y = _TOP + _STEP * i + _STEP / 2
        parts.append(
            f'<text x="{_short(left - 8)}" y="{_short(y + 4)}" text-anchor="end">'
            f"{escape(_cut(row.label))}<title>{escape(plain(f'{row.label} {row.words}'))}</title></text>"
        )
        if row.value is not None:
            begin, end = sorted((0.0, row.value))
            width = _short((end - begin) * along)
            parts.append(
                f'<rect class="bar" x="{x(begin)}" y="{_short(y - 8)}" width="{width}" height="16" rx="2"/>'
            )
        if row.high == row.low:
            continue
        parts.append(
            f'<path class="whisker" d="M{x(row.low)} {_short(y - 5)}v10M{x(row.low)} {_short(y)}H{x(row.high)}'
            f'M{x(row.high)} {_short(y - 5)}v10"/>'
        )
    parts.append(f'<path class="axis" d="M{x(0)} {_TOP}V{axis}"/></svg>')
    return trusted("".join(parts))


class Point(NamedTuple):
    """A place on the axis, its label, and a value with its interval."""

    at: float
    label: str
    value: float
    low: float
    high: float


def line(
    points: Sequence[Point],
    title: str,
    height: int = 260,
    steps: bool = False,
    scale: tuple[float, float] | None = None,
) -> str:
    """Draw values over time or over numbers: a line in the band of its intervals.

    Args:
        points: The points, in any order.
        title: What the picture shows, for screen readers.
        height: The height in pixels.
        steps: Whether the line stays level until the next point, as for what was spent.
        scale: The ends of the axis of values, where several pictures share one.

    >>> drawn = line([Point(0, "Mon", 3, 1, 5), Point(1, "Tue", 4, 2, 6)], "Visits by day")
    >>> drawn.count('class="line"'), "Tue" in drawn
    (1, True)
    """
    found = sorted(point for point in points if math.isfinite(point.low) and math.isfinite(point.high))
    low, high = scale or (min(0.0, *(p.low for p in found)), max(0.0, *(p.high for p in found)))
    first, last = found[0].at, found[-1].at
    left, bottom = 64, height - 30
    up = (bottom - _TOP) / ((high - low) or 1)
    along = (WIDTH - left - _RIGHT - 20) / ((last - first) or 1)

    def place(at: float, value: float) -> str:
        return f"{_short(left + (at - first) * along)} {_short(bottom - (value - low) * up)}"

    parts = [_begin(title, height)]
    marks = ticks(low, high, 4)
    for tick in marks if len(marks) > 2 else ticks(low, high, 7):
        y = _short(bottom - (tick - low) * up)
        parts.append(f'<path class="grid" d="M{left} {y}H{WIDTH - _RIGHT}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{y}" dy="4" text-anchor="end">{number(tick)}</text>')
    if low < 0:
        parts.append(f'<path class="axis" d="M{left} {_short(bottom + low * up)}H{WIDTH - _RIGHT}"/>')
    band = [place(p.at, p.high) for p in found] + [place(p.at, p.low) for p in reversed(found)]
    if any(p.high > p.low for p in found):
        parts.append(f'<path class="band" d="M{"L".join(band)}Z"/>')
    path = [place(found[0].at, found[0].value)]
    for before, point in pairwise(found):
        path += [place(point.at, before.value)] if steps else []
        path.append(place(point.at, point.value))
    parts.append(f'<path class="line" d="M{"L".join(path)}"/>')
    last = -math.inf
    for point in found:
        x = left + (point.at - first) * along
        if point.label and x - last >= _APART:  # else labels would overlap
            last, said = x, escape(_cut(point.label))
            parts.append(
                f'<text class="tick" x="{_short(x)}" y="{height - 10}" text-anchor="middle">{said}</text>'
            )
    return trusted("".join([*parts, "</svg>"]))


def share(left: float, title: str) -> str:
    """Draw what is left of a budget.

    >>> 'width="25.0"' in share(0.25, "25 % is left")
    True
    """
    shown = max(0.0, min(1.0, left)) * 100
    return trusted(
        f'<svg class="share" viewBox="0 0 100 3" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}"><rect class="track" width="100" height="3"/>'
        f'<rect class="left" width="{shown:.1f}" height="3"/></svg>'
    )


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two.

    >>> ticks(-3, 41), ticks(0, 0.02)
    ([0.0, 10.0, 20.0, 30.0, 40.0], [0.0, 0.005, 0.01, 0.015, 0.02])
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / about))
    step = next(m * power for m in (1, 2, 5, 10) if m * power * about >= (high - low) * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{step * i:.12g}") + 0.0 for i in range(first, last + 1)]


def _begin(title: str, height: float) -> str:
    said = escape(plain(title), quote=True)
    return (
        f'<svg class="intervals" viewBox="0 0 {WIDTH} {_short(height)}" role="img" aria-label="{said}">'
        f"<title>{said}</title>"
    )


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _cut(label: str) -> str:
    shown = plain(label)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
