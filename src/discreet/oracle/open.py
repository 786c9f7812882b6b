"""Making an oracle, and finding it again: one charge, one journal, one record in the ledger.

The order is that of every release: a place for the journal is taken, the whole ρ is charged, the journal is made,
and the ledger records which journal it was charged for. Whoever makes the same oracle again is given the one that
is there, and is charged nothing; but it draws new noise for whoever asks, so it is for the account that paid for
it. Killed between charge and record, the charge is wasted and nothing was asked. Two who make the same oracle
at the same moment may both pay, and one of the two is not found again.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import LawTooWide, NotForRelease, ParameterError
from discreet.noise.testing import test_bits as bits_in_use
from discreet.oracle import prior as priors
from discreet.oracle.exact_sums import Sums
from discreet.oracle.journal import Journal
from discreet.oracle.marginals import MOST_AT_START
from discreet.oracle.oracle import Oracle
from discreet.oracle.pricing import MOST_ROWS, Terms, narrowest, prices, terms
from discreet.privacy.losses import ZeroConcentrated
from discreet.privacy.theorems.calibration import largest
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.query import cache_key
from discreet.query.bins import Axis, Bins, axes_of
from discreet.rational import Rational, positive

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata
    from discreet.vault.vault import Vault

_FUTILE = 10**6  # an ε that protects nobody


def oracle(
    vault: Vault,
    columns: Sequence[str],
    *,
    epsilon: Rational,
    delta: Rational | None = None,
    within: Rational = "0.01",
    confidence: Rational = "0.95",
    queries: int = 10_000,
    bins: Mapping[str, Bins] | None = None,
    start: str | None = None,
    prior: Any = None,
    name: str = "",
    path: str | Path | None = None,
) -> Oracle:
    """Make an oracle over some columns of a vault, or open the one that these parameters made before.

    The whole of it is one charge: ρ = epsilon²/2, as for a question; with `delta` as well, the largest ρ that is
    (epsilon, delta)-differentially private by itself. `within` is how far off answers may be: a share of the rows,
    or from 1 on so many rows; each is so far off at most with this confidence. What could answer nothing about any
    number of rows is refused, and free; whether a share of these few can be answered is not known before the
    charge, so of a small table say so many rows. About so many `queries` can be asked before good answers raise
    false alarms. `bins` coarsens columns of many levels. `start` says what is
    measured first: "pairs", "singles" or "nothing". `prior` is a public table, or the oracle of the time before.
    Two oracles with the same parameters are told apart by `name`. `path` is where the state is kept, beside the
    rows if unsaid.
    """
    metadata = vault.metadata
    axes = axes_of(metadata, columns, bins)
    chosen = start or ("pairs" if prior is None else "singles")
    agreed = terms(
        rho=_rho(vault, epsilon, delta),
        within=within,
        confidence=confidence,
        queries=queries,
        start=chosen,
        rows_per_person=metadata.rows_per_person,
    )
    known = _prior(prior, axes, metadata)
    text = cache_key.text(metadata, _price(axes, agreed, _identity(prior, known), name))
    found = vault.ledger.find(text)
    if found is None:
        _expect_use(agreed, len(axes), None if delta is None else positive(delta, "delta"))
    sums = Sums(vault._engine(metadata), agreed.moves)
    journal = (
        _made(vault, text, agreed, metadata, known, path)
        if found is None
        else Journal.open(_folder(vault) / json.loads(found)["oracle"])
    )
    try:
        _check(journal, found, text, metadata, vault)
        believed = priors.restored(journal.header["prior"], axes)
        return Oracle(journal, sums, axes=axes, terms=agreed, metadata=metadata, prior=believed)
    except BaseException:
        journal.close()
        raise


def _rho(vault: Vault, epsilon: Rational, delta: Rational | None) -> Fraction:
    exact = positive(epsilon, "epsilon")
    if exact > _FUTILE:
        raise ParameterError(f"An epsilon above {_FUTILE:,} protects nobody: write one such as epsilon=1.")
    if vault._budget(vault._standing("")).pure:  # that of the strictest account that pays
        raise ParameterError(
            "an oracle adds up many small losses, which takes a budget with δ: seal the vault with "
            'Budget(epsilon=2, delta="1e-9"), or amend it: vault.ledger.amend(Budget(…)).'
        )
    if delta is None:
        return exact**2 / 2
    small = positive(delta, "delta")
    if small >= 1:
        raise ParameterError(f'delta must be below 1, such as "1e-9", not {delta!r}.')
    rho = largest(lambda rho: zcdp_to_approximate(rho, small) <= exact)
    if not rho:
        raise ParameterError(f"no ρ is worth so little as epsilon={epsilon}, delta={delta}. Spend more.")
    return rho


def _prior(given: Any, axes: Sequence[Axis], metadata: TableMetadata) -> list[dict[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, Oracle):
        return priors.of_rows(given, axes, metadata)
    if [(axis.name, axis.size) for axis in given.axes] != [(axis.name, axis.size) for axis in axes]:
        raise ParameterError("the oracle before has other columns or bins. Make both over the same.")
    if given.test_bits and bits_in_use() is None:
        raise NotForRelease("the oracle before was made from test bits, and what it learned is nobody's prior.")
    return priors.of_measurements(given.measured, given.rows)


def _identity(given: Any, known: list[dict[str, Any]]) -> str:
    """What tells priors apart: the rows of a public table, and which oracle it is, however that goes on."""
    if isinstance(given, Oracle):
        return given.identity
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16] if known else "none"


def _price(axes: Sequence[Axis], agreed: Terms, prior: str, name: str) -> str:
    over = ", ".join(f"{axis.name} in {len(axis.starts)}" for axis in axes)
    cuts = hashlib.sha256(json.dumps([axis.starts for axis in axes]).encode()).hexdigest()[:16]
    paid = f"rho {agreed.rho}, within {agreed.within}, confidence {agreed.confidence}, queries {agreed.queries}"
    called = f" {name!r}" if name else ""
    return f"oracle{called} over {over} [{paid}, start {agreed.start}, bins {cuts}, prior {prior}]"


def _made(
    vault: Vault,
    text: str,
    agreed: Terms,
    metadata: TableMetadata,
    known: list[dict[str, Any]],
    path: str | Path | None,
) -> Journal:
    identity = secrets.token_hex(8)
    place = _place(vault, identity, path)
    payers = {"analyst": vault._analyst, "purpose": vault._purpose}
    with Journal.place(place) as create:
        charge = vault.ledger.reserve(ZeroConcentrated(agreed.rho), question=text, **payers)
        facts = {
            "identity": identity,
            "charge": charge.number,
            "mark": metadata.fingerprint,
            "question": text,
            "prior": known,
            "test_bits": bits_in_use() is not None,
            **payers,
        }
        journal = create(agreed.rho, facts)
    named = str(place) if path is not None else place.name  # a vault that is moved takes its oracles along
    vault.ledger.record(charge, json.dumps({"oracle": named, "identity": identity}))
    return journal


def _check(journal: Journal, found: str | None, text: str, metadata: TableMetadata, vault: Vault) -> None:
    """Refuse a journal that is not the one which was charged for, or was paid for by somebody else."""
    header = journal.header
    known = header["identity"] if found is None else json.loads(found)["identity"]
    if (header["identity"], header["question"], header["mark"]) != (known, text, metadata.fingerprint):
        raise ParameterError(
            f"{journal.path} is the state of another oracle. Put back the one that was there, or make another, at "
            'its own cost: oracle(…, name="second").'
        )
    if (header["analyst"], header["purpose"]) != (vault._analyst, vault._purpose):
        who = " and ".join(filter(None, (header["analyst"], header["purpose"]))) or "the whole vault"
        raise ParameterError(
            f"this oracle was paid for by {who}, and new answers are for whoever paid. Open the vault as they do, "
            'or make one of your own: oracle(…, name="mine").'
        )


def _expect_use(agreed: Terms, columns: int, delta: Fraction | None) -> None:
    """Refuse an oracle that could answer nothing, whatever number of rows there is: so far that is public."""
    if _useful(agreed, columns):
        return
    enough, fixes = _enough(agreed, columns, delta), list[str]()
    if not _measurable(agreed, columns):
        wrong = f"ρ = {float(agreed.rho):.3g} buys noise that would leave int64, and nobody could see through it"
    else:
        price, width = float(prices(agreed, MOST_ROWS).single), f"{float(agreed.within):g}"
        what = f"{width} rows" if agreed.within >= 1 else f"{width} of the rows, even of {MOST_ROWS:,},"
        wrong = f"an answer within {what} costs ρ = {price:.3g}, and all of this oracle is {float(agreed.rho):.3g}"
        fixes += [f"write within={least}, which is so many rows" for least in [narrowest(agreed)] if least]
    if enough <= _FUTILE:
        fixes.append(f'spend more: epsilon="{_rounded_up(enough)}"')
    raise ParameterError(f"{wrong}. {', or '.join(fixes).capitalize()}.")


def _enough(agreed: Terms, columns: int, delta: Fraction | None) -> float:
    """An ε that suffices, at most twice the least that does."""
    richer = replace(agreed, rho=max(agreed.rho, Fraction(1, 10**30)))
    while not _useful(richer, columns):
        richer = replace(richer, rho=4 * richer.rho)
    return math.sqrt(2 * richer.rho) if delta is None else float(zcdp_to_approximate(richer.rho, delta))


def _useful(agreed: Terms, columns: int) -> bool:
    return _measurable(agreed, columns) and prices(agreed, MOST_ROWS).answers(agreed)


def _measurable(agreed: Terms, columns: int) -> bool:
    """Whether the noise of every marginal of the start can be drawn: the least ρ has the widest."""
    shares = [("total", 1), ("singles", 2 * columns), ("pairs", MOST_AT_START)]
    try:
        agreed.marginal(min(part for of, among in shares if (part := agreed.part(of, among))))
    except LawTooWide:
        return False
    return True


def _rounded_up(x: float) -> str:
    """Two digits of a positive number, and not less than it.

    >>> _rounded_up(0.01234), _rounded_up(3.0)
    ('0.013', '3')
    """
    step = Fraction(10) ** (math.floor(math.log10(x)) - 1)
    return f"{float(math.ceil(Fraction(x) / step) * step):g}"


def _place(vault: Vault, identity: str, path: str | Path | None) -> Path:
    if path is not None:
        return Path(path).absolute()
    if getattr(vault._place, "path", None) is None:
        raise ParameterError(
            f"the vault {vault.place} is no directory, so say where the oracle's state is kept, in a file of your "
            'own: path="people.oracle".'
        )
    return _folder(vault) / f"{identity}.oracle"


def _folder(vault: Vault) -> Path:
    """Where a vault of files keeps its oracles: with its rows. Elsewhere paths are absolute."""
    return Path(getattr(vault._place, "path", "/")).absolute()
