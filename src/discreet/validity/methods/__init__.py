"""Answer questions about a holdout so that the answers stay valid: one method to a module.

method            what all methods share: the questions so far, and one reply
split             each answer from rows of its own
ladder            the best score so far
guess_and_check   a guess if the holdout confirms it, else a rounded score
gaussian          every score with Gaussian noise
thresholdout      a guess if a private test confirms it, else a noisy score
"""

from __future__ import annotations

from discreet.validity.methods.gaussian import GaussianNoise
from discreet.validity.methods.guess_and_check import GuessAndCheck
from discreet.validity.methods.ladder import Ladder
from discreet.validity.methods.method import Method, Reply, Terms
from discreet.validity.methods.split import Split
from discreet.validity.methods.thresholdout import Thresholdout

METHODS: dict[str, type[Method]] = {
    "split": Split,
    "ladder": Ladder,
    "guess_and_check": GuessAndCheck,
    "gaussian": GaussianNoise,
    "thresholdout": Thresholdout,
}
"""Every method, by its name."""

__all__ = ["METHODS", "Method", "Reply", "Terms"]
