"""Write the report of a holdout, for a terminal and for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.render.html import fragment, framed

if TYPE_CHECKING:
    from discreet.validity.holdout import ReusableHoldout

_SHOWN = 12  # answers in a report


def report(guard: ReusableHoldout) -> str:
    """Return the report as text."""
    answers = guard.answers
    confirmed = sum(answer.source == "training" for answer in answers)
    kept = (
        f"in {guard.path}" if guard.durable else "in memory: it ends with this object. Give it a path to keep it"
    )
    lines = [
        f"A holdout of {guard.n:,} rows; method {guard.method}. {guard.why}",
        f"{guard.asked:,} questions: {confirmed:,} confirmed training values, {len(answers) - confirmed:,} were "
        f"answered from the holdout, {guard.asked - len(answers):,} had no answer.",
        f"All intervals hold together with {float(guard.confidence):.4g}.",
        f"The next answer is about ± {guard.width:.3f}; after 10 more without a surprise ± "
        f"{guard.width_after(10):.3f}, after 100 more ± {guard.width_after(100):.3f}.",
        f"The transcript is {kept}.",
    ]
    if answers:
        lines += [
            "",
            *(
                f"  {answer.number:>4}  {answer.shown:24} {answer.source:9} {answer.question[:60]}"
                for answer in answers[-_SHOWN:]
            ),
        ]
    return "\n".join(lines)


def page(guard: ReusableHoldout) -> str:
    """Return the report as HTML."""
    return framed(fragment("<pre>{{ text }}</pre>", text=report(guard)))
