"""Turn a verb of a service into a method: it blocks on a `Client`, and is awaited on an `AsyncClient`.

A verb is written once, as a flow (`requests.Flow`), and declared once, as an attribute of a class with a client:

    class RemoteOracle(Product, Generic[C]):
        client: C
        ask = Verb(products.ask_oracle)

    RemoteOracle[Client].ask(…)         returns an answer
    RemoteOracle[AsyncClient].ask(…)    is awaited, and returns an answer
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from discreet.client.requests import Flow

if TYPE_CHECKING:
    from discreet.client.client import AsyncClient, Client

T = TypeVar("T")
P = ParamSpec("P")
C_co = TypeVar("C_co", covariant=True)


class Held(Protocol[C_co]):
    """Something that has a client."""

    @property
    def client(self) -> C_co:
        """The client that sends its requests."""


class Verb(Generic[P, T]):
    """A verb of a service as a method.

    Args:
        flow: What is sent, and what becomes of the reply. Its first parameter is the object.
    """

    def __init__(self, flow: Callable[Concatenate[Any, P], Flow[T]]):
        """Take the flow, with its name and its documentation."""

        @functools.wraps(flow)
        def method(held: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return held.client.run(flow(held, *args, **kwargs))

        self._method, self.__doc__ = method, flow.__doc__

    @overload
    def __get__(self, held: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, held: Held[Client], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, held: Held[AsyncClient], owner: type) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, held: Any, owner: type) -> Any:
        """Return the method of an object, whose client decides whether it blocks; of a class, the function."""
        return self._method if held is None else MethodType(self._method, held)
