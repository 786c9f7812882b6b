"""The doors of the service for tools: what leaves in error, turns, tickets, tokens, and limits on strangers."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ADBC = "tests/serve/door/flight/test_adbc.py"
HOSTILE = "tests/serve/door/flight/test_hostile.py"

DOORS = [
    Mutant(
        "flight: a client gets the text of an exception",
        "serve/door/flight/statuses.py",
        "        refusal = error if isinstance(error, Refusal) else failure()",
        "        refusal = error if isinstance(error, Refusal) else Refusal(str(error), 'XX000')",
        f"{HOSTILE}::test_no_text_of_an_exception_reaches_the_client_or_the_log",
    ),
    Mutant(
        "flight: a fault is not told as one",
        "serve/door/flight/grpc.py",
        "                status, words = told(error)",
        "                status, words = Status.OK, repr(error)",
        f"{HOSTILE}::test_no_text_of_an_exception_reaches_the_client_or_the_log",
    ),
    Mutant(
        "flight: calls are answered beside a question",
        "serve/door/flight/calls.py",
        "        async with caller.turn():",
        "        if True:",
        f"{ADBC}::test_every_call_of_an_account_waits_while_its_question_runs",
    ),
    Mutant(
        "flight: a ticket that is fetched again is another request",
        "serve/door/flight/calls.py",
        "await fixed.execute(statement, key=ticket.key)",
        "await fixed.execute(statement)",
        f"{ADBC}::test_a_ticket_that_is_fetched_again_is_the_same_request",
    ),
    Mutant(
        "flight: a question is charged when it is described",
        "serve/door/flight/calls.py",
        "        if statement.command in _SETTING:\n            await session.execute(statement)",
        "        if True:\n            await session.having(chosen).execute(statement)",
        f"{ADBC}::test_schemas_prepared_statements_and_tickets_are_free_and_rows_are_charged_once",
    ),
    Mutant(
        "flight: the price of a ticket is what the session says later",
        "serve/door/flight/calls.py",
        "    fixed = session.having(session.variables.having(ticket.settings))",
        "    fixed = session",
        f"{ADBC}::test_a_price_comes_from_a_header_a_session_option_or_set_and_none_is_refused",
    ),
    Mutant(
        "flight: a name goes with any token",
        "serve/door/flight/client.py",
        "        if name is not None and name != found.name:",
        "        if False:",
        f"{ADBC}::test_who_may_not_come_in_is_refused",
    ),
    Mutant(
        "flight: a session keeps its rights",
        "serve/door/flight/client.py",
        "        await analyst.actor()\n",
        "",
        f"{ADBC}::test_a_grant_that_is_withdrawn_ends_at_once_for_the_catalogue_as_well",
    ),
    Mutant(
        "flight: a message may have any size",
        "serve/door/flight/grpc.py",
        "        if len(stream.body) > MOST_BYTES + _PREFIX.size:",
        "        if False:",
        f"{HOSTILE}::test_a_message_that_is_too_large_is_refused_and_not_kept",
    ),
    Mutant(
        "flight: a client may have any number of calls",
        "serve/door/flight/grpc.py",
        "        if len(self._streams) >= MOST_CALLS:",
        "        if False:",
        f"{HOSTILE}::test_a_client_has_few_calls_at_a_time",
    ),
    Mutant(
        "flight: frames are not counted",
        "serve/door/flight/grpc.py",
        '            self._frames.take("")',
        "            pass",
        f"{HOSTILE}::test_a_flood_of_frames_ends_the_connection",
    ),
    Mutant(
        "flight: a client that does not read is waited for",
        "serve/door/flight/grpc.py",
        "                async with asyncio.timeout(SECONDS_TO_READ):\n                    window",
        "                async with asyncio.timeout(None):\n                    window",
        f"{HOSTILE}::test_a_client_that_does_not_read_loses_its_connection",
    ),
    Mutant(
        "flight: answers that wait are not counted",
        "serve/door/flight/calls.py",
        "        if self.size + size > MOST_WAITING:",
        "        if False:",
        f"{HOSTILE}::test_answers_that_are_not_read_do_not_fill_the_memory",
    ),
    Mutant(
        "flight: strangers may stay",
        "serve/door/flight/server.py",
        "        async with asyncio.timeout(self.seconds) as limit:",
        "        async with asyncio.timeout(None) as limit:",
        f"{HOSTILE}::test_a_stranger_has_a_limited_time_and_a_client_that_signed_in_has_not",
    ),
    Mutant(
        "doors: each door has a limit of its own on fresh questions",
        "serve/door/reception.py",
        "        return Analyst(self.service, self._turns, self.fresh, name, vault, token)",
        "        return Analyst(self.service, self._turns, Rate(1000), name, vault, token)",
        f"{ADBC}::test_fresh_questions_have_one_rate_at_all_doors",
    ),
]
