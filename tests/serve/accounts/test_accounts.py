"""Accounts on both stores: tokens, sessions, invitations and grants end when they should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.errors import AlreadyRunning, NotFound, NotPermitted, NotSignedIn, ParameterError
from discreet.serve.accounts import Accounts, Devices, Passes, Replies, Role, database_at
from discreet.serve.accounts.devices import LASTS, MOST
from discreet.serve.accounts.passes import Use

PASSWORD = "a long password of words"
DAY = 24 * 3600


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "accounts.sqlite")
    address: str = request.getfixturevalue("postgres_address")
    return address


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(place: str, clock: Callable[[], float]) -> Accounts:
    return Accounts(database_at(place), session_idle=100, session_longest=1000, clock=clock)


def test_a_browser_is_known_for_one_name_for_a_time_and_the_last_ones_are_kept(
    accounts: Accounts, place: str, clock: Clock
) -> None:
    here, there = Devices(accounts), Devices(Accounts(database_at(place), clock=clock))
    mark = here.remember("ana", "")
    assert there.knows(mark, "ana")
    assert not there.knows(mark, "bo")
    assert not there.knows("", "ana")
    newer = here.remember("ana", mark)
    assert (there.knows(mark, "ana"), there.knows(newer, "ana")) == (False, True)
    other = there.remember("bo", "")
    clock.now += 1
    marks = [here.remember("ana", "") for _ in range(MOST)]
    assert all(there.knows(one, "ana") for one in marks)
    assert (there.knows(newer, "ana"), there.knows(other, "bo")) == (False, True)
    clock.now += LASTS
    assert not any(there.knows(one, "ana") for one in marks)
    here.remember("ana", "")
    with accounts.database.read() as run:
        rows = run("SELECT hash FROM devices")
    assert len(rows) == 1
    assert rows[0][0] not in marks  # hashes are stored


def test_a_pass_has_one_use_and_a_cancellation_is_seen_by_the_other_server(place: str) -> None:
    one, other = Passes(database_at(place)), Passes(database_at(place))
    assert one.use("survey", "code", "pass", "ticket") == Use("ticket", first=True)
    assert other.use("survey", "code", "pass", "ticket") == Use("ticket", first=False)
    assert other.use("survey", "code", "pass", "another") == Use("ticket", first=False)
    assert other.use("survey", "ticket", "pass", "report").first
    assert other.use("another survey", "code", "pass", "ticket").first
    assert one.of("survey") == [("code", "pass", "ticket"), ("ticket", "pass", "report")]
    other.forget("survey")
    assert one.use("survey", "code", "pass", "another").first
    here, there = Replies(database_at(place), "here"), Replies(database_at(place), "there")
    assert not here.cancelled("question")
    there.cancel("question", 5)
    there.cancel("question", 6)
    assert here.cancelled("question")
    here.sweep(100)
    assert not here.cancelled("question")


def test_the_first_run_makes_one_curator_once(accounts: Accounts) -> None:
    token = accounts.first_run()
    assert token is not None
    assert accounts.by_token(token).role is Role.CURATOR
    assert accounts.first_run() is None


def test_a_token_ends_when_it_expires_is_revoked_or_its_account_is_closed(
    accounts: Accounts, clock: Clock
) -> None:
    accounts.add("ana", Role.ANALYST)
    first, second = accounts.new_token("ana", days=1), accounts.new_token("ana", label="b", days=9)
    assert accounts.by_token(first).name == "ana"
    clock.now += DAY
    with pytest.raises(NotPermitted, match="expired"):
        accounts.by_token(first)
    accounts.disable("ana")
    with pytest.raises(NotPermitted, match="closed"):
        accounts.by_token(second)
    accounts.disable("ana", disabled=False)
    assert accounts.by_token(second).name == "ana"
    (token,) = (one for one in accounts.tokens("ana") if one.label == "b")
    assert token.last_used == int(clock.now)
    accounts.revoke_token("ana", token.id)
    with pytest.raises(NotPermitted, match="revoked"):
        accounts.by_token(second)
    with pytest.raises(NotSignedIn):
        accounts.by_token("dsc_unknown")


def test_a_session_ends_when_idle_or_old(accounts: Accounts, clock: Clock) -> None:
    accounts.add("ana", Role.ANALYST, PASSWORD)
    with pytest.raises(NotSignedIn):
        accounts.sign_in("ana", "another long password")
    key = accounts.sign_in("ana", PASSWORD)
    for _ in range(11):
        clock.now += 90
        accounts.by_session(key)
    clock.now += 90  # older than 1000 seconds, and never idle for 100
    with pytest.raises(NotSignedIn):
        accounts.by_session(key)
    key = accounts.sign_in("ana", PASSWORD)
    clock.now += 100
    with pytest.raises(NotSignedIn):
        accounts.by_session(key)


def test_an_invitation_works_once(accounts: Accounts, clock: Clock) -> None:
    code = accounts.invite(Role.ANALYST, by="curator", days=1)
    assert accounts.accept(code, "ana", PASSWORD).role is Role.ANALYST
    with pytest.raises(NotFound):
        accounts.accept(code, "bo", PASSWORD)
    late = accounts.invite(Role.ANALYST, by="curator", days=1)
    clock.now += DAY
    with pytest.raises(NotFound):
        accounts.accept(late, "bo", PASSWORD)


def test_an_analyst_sees_granted_vaults_only_and_names_granted_purposes_only(accounts: Accounts) -> None:
    accounts.add("ana", Role.ANALYST)
    accounts.grant("ana", "trips", by="curator", purposes=["yearly report"])
    token = accounts.new_token("ana")
    ana = accounts.by_token(token)
    assert (ana.may_see("trips"), ana.may_see("wages")) == (True, False)
    ana.expect("ask", purpose="yearly report", vault="trips")
    with pytest.raises(NotPermitted, match="purpose"):
        ana.expect("ask", purpose="another", vault="trips")
    with pytest.raises(NotPermitted, match="manage"):
        ana.expect("manage")
    accounts.withdraw("ana", "trips")
    assert not accounts.by_token(token).may_see("trips")


def test_a_scope_beyond_the_role_is_refused(accounts: Accounts) -> None:
    accounts.add("ana", Role.ANALYST)
    with pytest.raises(ParameterError, match="manage"):
        accounts.new_token("ana", verbs=["manage"])


def test_no_secret_is_stored(accounts: Accounts) -> None:
    accounts.add("ana", Role.ANALYST, PASSWORD)
    secrets = [accounts.new_token("ana"), accounts.sign_in("ana", PASSWORD), accounts.invite(Role.AUDITOR, by="c")]
    with accounts.database.read() as run:
        stored = str([run(f"SELECT * FROM {table}") for table in ("users", "tokens", "sessions", "invitations")])
    assert not [secret for secret in [*secrets, PASSWORD] if secret.removeprefix("dsc_") in stored]


def test_a_key_belongs_to_one_request_of_one_account(place: str) -> None:
    replies = Replies(database_at(place), "server 1")
    first, new = replies.accept("ana", "k", "f", "ask", "trips", 1)
    assert new
    assert replies.accept("bo", "k", "g", "ask", "trips", 1)[1]
    with pytest.raises(AlreadyRunning):
        replies.accept("ana", "k", "g", "ask", "trips", 1)
    replies.complete(first.id, 200, {"count": 7})
    again, new = Replies(database_at(place), "server 2").accept("ana", "k", "f", "ask", "trips", 2)
    assert (again.body, new) == ({"count": 7}, False)
    with pytest.raises(NotFound):
        replies.find("bo", first.id)
