"""Turn `module:attribute` on the command line into something that can be audited.

A target is a `Subject`, a `Mechanism` or a `Filter`, a function or class without parameters that makes one, or,
together with a claim and a pair of neighbours, any callable. The current directory is searched first.
"""

from __future__ import annotations

import ast
import copy
import difflib
import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.audit.attacks.outcomes import Raised, outcome, tagged
from discreet.audit.battery import Filter
from discreet.audit.inputs.subject import Subject
from discreet.errors import DiscreetError
from discreet.mechanisms.mechanism import Mechanism
from discreet.privacy import Approximate, Pure

_TRIALS = 8  # an honest mechanism may refuse to answer now and then, but hardly this often in a row

_EXAMPLE = """

A target is a discreet.audit Subject, a mechanism, or a function without parameters that returns one:

    from discreet import noise, privacy
    from discreet.audit.inputs.subject import Subject

    def coin():
        return Subject(name="coin", release=lambda bit: bit ^ noise.bernoulli("1/4"),
                       loss=privacy.RandomizedResponse("1.0987"), pairs=[(0, 1)])

Any other function is audited on one pair: discreet audit module:function --epsilon 1 --on '[1, 2]' --and '[1]'"""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The claim about a plain callable: its ε and δ, and the neighbours to try it on, as they were typed."""

    epsilon: str
    delta: str | None
    on: str
    other: str


def claim_of(epsilon: str | None, delta: str | None, on: str | None, other: str | None) -> Claim | None:
    """Return the claim that was typed; None if there is none. An incomplete claim is refused.

    Args:
        epsilon: The ε that is claimed.
        delta: The δ that is claimed; None for pure differential privacy.
        on: The data, as a Python literal.
        other: The data with one person changed, as a Python literal.

    >>> claim_of("1", None, "[1, 2]", "[1]")
    Claim(epsilon='1', delta=None, on='[1, 2]', other='[1]')
    """
    if epsilon is None and delta is None and on is None and other is None:
        return None
    if epsilon is None or on is None or other is None:
        raise DiscreetError(
            "A plain function needs its claim and both neighbours.",
            fix="Write --epsilon 1 --on '[1, 2]' --and '[1]', and --delta 1e-6 if it has one.",
        )
    return Claim(epsilon=epsilon, delta=delta, on=on, other=other)


def chosen(targets: Sequence[str], shipped: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what the targets name: all shipped mechanisms by default, `Laplace` for every shipped `Laplace(…)`.

    >>> chosen(["Laplace"], {"Laplace(scale=1)": 1, "Laplace(scale=2)": 2, "Gaussian(variance=1)": 3})
    [('Laplace(scale=1)', 1), ('Laplace(scale=2)', 2)]
    """
    things: list[tuple[str, Any]] = [] if targets else [*shipped.items()]
    for target in targets:
        ours = [(name, thing) for name, thing in shipped.items() if target in (name, _short(name))]
        things += ours or [(target, found(target, shipped))]
    return things


def _short(name: str) -> str:
    return name.partition("(")[0]


def found(target: str, shipped: Iterable[str] = ()) -> Any:
    """Return what `module:attribute` names.

    >>> found("discreet.mechanisms:Laplace")
    <class 'discreet.mechanisms.laplace.Laplace'>
    """
    path, colon, attribute = target.partition(":")
    if not colon or not path or not attribute:
        raise DiscreetError(
            f"{target!r} is neither a shipped mechanism nor written as module:attribute.",
            fix=guess(target, {*map(_short, shipped)}),
        )
    if path.endswith(".py") or "/" in path:
        module = path.removesuffix(".py").strip("./").replace("/", ".")
        raise DiscreetError(
            f"{path!r} is a file, not a module.", fix=f"Name it as Python imports it: {module}:{attribute}"
        )
    thing, name = _module(path), path
    for part in attribute.split("."):
        if not hasattr(thing, part):
            raise DiscreetError(f"{name!r} has no {part!r}.", fix=guess(part, dir(thing)))
        thing, name = getattr(thing, part), f"{name}.{part}"
    return thing


def auditable(target: str, thing: Any) -> Any:
    """Return the subject or mechanism that a target is or makes."""
    made = thing
    if isinstance(thing, type) or (callable(thing) and not isinstance(thing, Subject | Filter | Mechanism)):
        if required := _required(thing):
            raise DiscreetError(f"{target!r} cannot be made: it needs {', '.join(required)}.", fix=_EXAMPLE)
        made = _called(target, thing)
    if isinstance(made, Subject | Filter | Mechanism) and not isinstance(made, type):
        return made
    what = f"returned {_kind(made)}" if made is not thing else f"is {_kind(made)}"
    raise DiscreetError(f"{target!r} {what}, which cannot be audited.", fix=_EXAMPLE)


def claimed(target: str, thing: Any, claim: Claim) -> Subject:
    """Return a plain callable as a subject with that claim and that one pair."""
    if not callable(thing) or isinstance(thing, Subject | Filter | Mechanism):
        raise DiscreetError(
            f"{target!r} is {_kind(thing)}: --epsilon, --delta, --on and --and are for plain functions.",
            fix="Leave them out, or name a function that takes the data and returns an answer.",
        )
    loss = Pure(claim.epsilon) if claim.delta is None else Approximate(claim.epsilon, claim.delta)
    pair = (_literal("--on", claim.on), _literal("--and", claim.other))
    if tagged(outcome(pair[0])) == tagged(outcome(pair[1])):
        raise DiscreetError(
            "--on and --and are the same data.",
            found=f"{claim.on} and {claim.other}",
            fix="Write data that differ in one person: --on '[1, 2]' --and '[1]'",
        )
    subject = Subject(name=target, release=thing, loss=loss, pairs=[pair])
    _refuse_if_always_raising(subject)
    return subject


# -- modules ----------------------------------------------------------------------------------------------------


def _module(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise DiscreetError(f"{name!r} itself imports {error.name!r}, which is not installed.") from error
        raise DiscreetError(
            f"There is no module {error.name!r}. The current directory, {here}, was searched first.",
            fix=[
                *guess(name, [path.stem for path in Path(here).glob("*.py")]),
                f"Run discreet from the folder that holds {error.name}.py, or install the package that has it.",
            ],
        ) from error
    except (Exception, SystemExit) as error:
        raise DiscreetError(f"{name!r} cannot be imported: {type(error).__name__}: {error}") from error


def guess(written: str, names: Iterable[str], few: int = 20) -> list[str]:
    """Return a sentence with the names that were probably meant, or with the first names of all."""
    public = [name for name in names if not name.startswith("_")]
    close = difflib.get_close_matches(written, public, n=3)
    if close:
        return [f"Did you mean {' or '.join(map(repr, close))}?"]
    more = f" and {len(public) - few} more" if len(public) > few else ""
    return [f"There are: {', '.join(sorted(public)[:few])}{more}."] if public else []


# -- callables --------------------------------------------------------------------------------------------------


def _required(thing: Any) -> list[str]:
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return []
    return [
        f"{p.name}=…"
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


def _called(target: str, thing: Any) -> Any:
    try:
        return thing()
    except DiscreetError:
        raise
    except (Exception, SystemExit) as error:
        raise DiscreetError(f"{target!r} cannot be made: {type(error).__name__}: {error}") from error


def _literal(option: str, text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise DiscreetError(
            f"The data of {option} are not a Python literal.",
            found=repr(text),
            fix="Write numbers, strings, lists, tuples or dictionaries, in quotes for the shell: "
            f"{option} '[1, 2, 3]'",
        ) from None


def _refuse_if_always_raising(subject: Subject) -> None:
    """Refuse a function that always raises: the data do not fit it, and there is nothing to attack."""
    (pair,) = subject.pairs
    answers = [subject.run(copy.deepcopy(data)) for data in pair for _ in range(_TRIALS)]
    raised = [answer for answer in answers if isinstance(answer, Raised)]
    if len(raised) == len(answers):
        raise DiscreetError(
            f"{subject.name!r} only raises on these data, so there is nothing to audit.",
            found=f"{raised[0].kind}: {raised[0].message}",
        )


def _kind(thing: Any) -> str:
    return f"a {type(thing).__name__}" if thing is not None else "None"
