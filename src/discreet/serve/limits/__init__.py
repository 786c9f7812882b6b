"""Limit what one client can ask of the service.

rates       Rate: requests of an account or an address in a minute
gate        Gate: open connections, in all and of one address
patience    PatientProtocol: connections of HTTP that keep the server waiting
"""

from discreet.serve.limits.gate import Gate
from discreet.serve.limits.rates import Rate

__all__ = ["Gate", "Rate"]
