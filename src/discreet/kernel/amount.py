"""Turn `epsilon` or `spend` into the amount that a ledger adds up: ε without δ, ρ with it.

One meaning of ε. `epsilon=e` says that this release alone is (e, δ)-differentially private at the vault's δ, and
e-DP where the vault has none, or where an account that pays has none. So `epsilon` equal to the budget's spends
all of it, and in a vault with δ many small releases cost less than their sum. `spend="5%"` is a share of the whole
budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.kernel.payer import strictest_budget, vault_budget
from discreet.ledger.balance import Balance
from discreet.rational import Rational, positive, rational


def amount_of(
    balances: Sequence[Balance],
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    pure: bool | None = None,
) -> Fraction:
    """Return what a release costs: an ε if it must be pure, a ρ if not.

    Args:
        balances: The accounts that pay, that of the whole vault first.
        epsilon: The guarantee of the release alone, at the vault's δ.
        spend: A share of the whole budget, such as "5%".
        pure: Whether the release is pure; by default, whether one of the accounts has no δ.

    >>> from discreet.ledger import Account, Budget
    >>> whole = Balance(Account(), Budget(2, "1e-9")).granted(Budget(2, "1e-9"))
    >>> amount_of([whole], epsilon=2) == amount_of([whole], spend="100%") == whole.total
    True
    >>> [round(float(whole.total / amount_of([whole], epsilon=e)), 1) for e in (1, "0.2", "0.1")]
    [3.8, 83.7, 319.6]
    """
    if (epsilon is None) == (spend is None):
        raise ParameterError(
            "A release needs either epsilon or spend.", fix=[Fix("epsilon", "0.1"), Fix("spend", "5%")]
        )
    vault = vault_budget(balances)
    if pure is None:
        pure = strictest_budget(balances).pure
    if spend is not None:
        return share_of(spend) * whole_amount(balances, pure)
    exact = positive(epsilon or 0, "epsilon")
    if pure:
        return exact
    if exact == vault.epsilon and balances[0].rho is not None:
        return balances[0].rho  # as the ledger has it, so that nothing is left over
    return vault.rho_of(exact)


def share_of(spend: str) -> Fraction:
    """Return a percentage as a fraction.

    >>> share_of("5%"), share_of("0.5 %")
    (Fraction(1, 20), Fraction(1, 200))
    """
    text = str(spend).strip()
    share = rational(text[:-1].strip(), "spend") / 100 if text.endswith("%") and isinstance(spend, str) else None
    if share is None or not 0 < share <= 1:
        raise ParameterError(
            "spend is a share of the whole budget, above 0 % and at most 100 %.",
            found=spend,
            fix=Fix("spend", "5%"),
        )
    return share


def whole_amount(balances: Sequence[Balance], pure: bool) -> Fraction:
    """Return the whole budget, which shares are shares of.

    It is the vault's, or that of the strictest account where a pure release is paid by a vault that adds up ρ.
    """
    whole = balances[0]
    if pure and whole.unit == "ρ":
        return strictest_budget(balances).epsilon
    return whole.total or Fraction(0)
