"""What all tests share: witnesses that compute with 320 bits (96 digits), whatever another test asked for."""

from __future__ import annotations

import mpmath

mpmath.mp.prec = 320
