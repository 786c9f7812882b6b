"""State the calibration theorems of private learning, with calculators rounded up.

objective_perturbation   Gaussian noise in the objective: δ, Gaussian DP, σ
pure_noise               Laplace noise in the objective: pure ε
tolerance                solvers that stop early, noise on grids
softmax                  objective perturbation with several classes, Gaussian noise
softmax_pure             the same with Laplace noise: pure ε
general_losses           objective perturbation without a margin, where the dimension enters
output_perturbation      noise on the minimiser
gradient_descent         noise on every gradient
posterior_sampling       one sample of a posterior

Beneath them: `margin_loss` (losses and objectives), `closed_forms`, `joint_bound` and `flow` (bounds of the
privacy loss), `loss_law` (from losses to δ), `calibration` (searches for σ).
"""

from discreet.privacy.theorems.learning.margin_loss import LOGISTIC, MarginLoss, huberised_hinge, smooth_hinge

__all__ = ["LOGISTIC", "MarginLoss", "huberised_hinge", "smooth_hinge"]
