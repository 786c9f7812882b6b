"""The exact profile of one and of two sampled Gaussians, in long arithmetic and from the densities alone."""

from __future__ import annotations

import mpmath as mp


def gaussian(mu: mp.mpf, c: mp.mpf) -> mp.mpf:
    """Return sup P − e^c·Q of N(μ, 1) and N(0, 1), for every real c."""
    return mp.ncdf(mu / 2 - c / mu) - mp.exp(c) * mp.ncdf(-mu / 2 - c / mu)


def one(rate: str, sigma: str, direction: str, a: mp.mpf) -> mp.mpf:
    """Return δ(a) of one release, for every real a."""
    q, mu = mp.mpf(rate), 1 / mp.mpf(sigma)
    if direction == "remove":
        rest = mp.expm1(a) + q  # q·P − rest·Q is what is summed where it is positive
        return -mp.expm1(a) if rest <= 0 else q * gaussian(mu, mp.log(rest / q))
    left = 1 - mp.exp(a) * (1 - q)  # left·Q − e^a·q·P
    return left * gaussian(mu, mp.log(mp.exp(a) * q / left)) if left > 0 else mp.mpf(0)


def two(rate: str, sigma: str, direction: str, epsilon: mp.mpf) -> mp.mpf:
    """Return δ(ε) of two releases: the mean of δ(ε − L) over the loss L of the first."""
    q, mu = mp.mpf(rate), 1 / mp.mpf(sigma)

    def part(x: mp.mpf) -> mp.mpf:
        loss = mp.log1p(q * mp.expm1(mu * x - mu * mu / 2))
        if direction == "remove":
            density = (1 - q) * mp.npdf(x) + q * mp.npdf(x - mu)
            return density * one(rate, sigma, direction, epsilon - loss)
        return mp.npdf(x) * one(rate, sigma, direction, epsilon + loss)

    with mp.workdps(30):
        return mp.quad(part, mp.linspace(-12, 12 + float(mu) * 2, 25))
