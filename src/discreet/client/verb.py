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
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

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
        self._flow = flow
        self.__doc__, self.__wrapped__ = flow.__doc__, flow

    @overload
    def __get__(self, held: None, owner: type) -> Self: ...
    @overload
    def __get__(self, held: Held[Client], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, held: Held[AsyncClient], owner: type) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, held: Any, owner: type) -> Any:
        """Return the method of an object; its client decides whether it blocks."""
        if held is None:
            return self

        @functools.wraps(self._flow)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return held.client.run(self._flow(held, *args, **kwargs))

        return method
