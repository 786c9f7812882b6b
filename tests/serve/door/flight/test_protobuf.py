"""Messages beside pyarrow's own, and bytes that are none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pyarrow import flight, schema

from discreet.serve.door.flight import protobuf
from discreet.serve.door.flight.protobuf import Malformed, decode, encode
from discreet.serve.door.flight.tickets import read
from discreet.serve.door.refusals import Refusal

NUMBERS = st.integers(1, 5000)
VALUES = st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=20))


@given(st.dictionaries(NUMBERS, st.lists(VALUES, min_size=1, max_size=2), max_size=4))
def test_what_is_written_is_read(fields: protobuf.Fields) -> None:
    assert decode(encode(fields)) == fields


@given(st.binary(max_size=200))
def test_random_bytes_are_a_message_or_malformed(data: bytes) -> None:
    for use in (decode, protobuf.unpack, lambda one: protobuf.wholes(decode(one), 1), read):
        try:
            use(data)
        except (Malformed, Refusal):
            continue


def test_messages_are_those_of_pyarrow() -> None:
    empty = schema([]).serialize().to_pybytes()
    ours = encode(
        {1: empty, 2: encode({1: 2, 2: b"command"}), 3: encode({1: encode({1: b"ticket"})}), 4: -1, 5: -1}
    )
    theirs = flight.FlightInfo.deserialize(ours)
    assert theirs.descriptor.command == b"command"
    assert theirs.endpoints[0].ticket.ticket == b"ticket"
    assert (theirs.total_records, theirs.total_bytes) == (-1, -1)
    assert decode(theirs.serialize())[3] == decode(ours)[3]
    assert decode(flight.Action("kind", b"body").serialize()) == {1: [b"kind"], 2: [b"body"]}
    assert decode(flight.Ticket(b"ticket").serialize()) == {1: [b"ticket"]}
    assert decode(flight.FlightDescriptor.for_command(b"x").serialize()) == {1: [2], 2: [b"x"]}
