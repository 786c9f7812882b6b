"""The server itself decides which role appends which entry: an analyst's role cannot raise a budget."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any
from urllib.parse import quote

import pytest

from discreet import privacy
from discreet.errors import DiscreetError, LedgerTampered, LedgerUnavailable, ParameterError
from discreet.ledger import Budget, Ledger
from discreet.ledger.entry import Entry, sealed
from discreet.postgres import Address, close, connected, execute, identifier, run
from discreet.schema import Integer
from discreet.sealing.sources import Source
from discreet.vault.vault import Vault
from tests.servers.postgres import Server

pytestmark = pytest.mark.xdist_group("postgres")

TENTH = privacy.Pure("0.1")
RIGHTS = ("GRANT USAGE ON SCHEMA {schema} TO {role}", "GRANT SELECT, INSERT, UPDATE ON {schema}.entries TO {role}")


class Office:
    """A ledger of an owner, an analyst whose role may INSERT, and a service."""

    def __init__(self, server: Server, place: str, budget: Budget):
        self.server, self.place = server, place
        self.schema = identifier(Address.of(place).schema)
        self.owner = Ledger.create(place, budget)
        for role in ("ana", "service"):
            grants = [each.format(schema=self.schema, role=role) for each in RIGHTS]
            server.run(f"CREATE ROLE {role} LOGIN", *grants)
        self.owner.trust("service")

    def address(self, role: str) -> str:
        return self.place.replace("postgres@", f"{quote(role)}@", 1)

    def ledger(self, role: str) -> Ledger:
        return Ledger.open(self.address(role))

    def as_role(self, statement: str, role: str = "ana", before: tuple[str, ...] = ()) -> None:
        with connected(Address.of(self.address(role))) as connection:
            for each in (*before, statement):
                run(connection, each.replace("{table}", f"{self.schema}.entries"))

    def append(self, entry: Entry, role: str = "ana", before: tuple[str, ...] = ()) -> None:
        """Insert an entry past all of our code."""
        values = (entry.number, entry.time, entry.kind, entry.body, entry.hash, *entry.keys)
        with connected(Address.of(self.address(role))) as connection:
            for each in before:
                run(connection, each)
            execute(connection, f"INSERT INTO {self.schema}.entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def next(self, kind: str, content: dict[str, Any]) -> Entry:
        """Return the entry that follows, with the right number and hash."""
        head = self.owner.head()
        return sealed(head.hash, head.number + 1, "2026-01-01T00:00:00.000000Z", kind, content)

    def charge(self) -> dict[str, Any]:
        """Return the body of the last charge, as if it were asked once more."""
        last = [entry for entry in self.owner.entries() if entry.kind == "charge"][-1]
        content = copy.deepcopy(last.content)
        for balance in content["after"].values():
            balance["charges"] += 1
            for amount, cost in content["cost"].items():
                balance["spent"][amount] = str(Fraction(balance["spent"][amount]) + Fraction(cost))
        return content


@pytest.fixture(params=[Budget(1), Budget(1, "1e-6")], ids=["pure", "with delta"])
def office(postgres: Server, postgres_address: str, request: pytest.FixtureRequest) -> Iterator[Office]:
    made = Office(postgres, postgres_address, request.param)
    try:
        made.owner.allot(analyst="ana", budget=request.param)
        made.owner.reserve(TENTH, question="?", analyst="ana")
        yield made
    finally:
        made.owner.close()
        for role in ("ana", "service"):
            close(Address.of(postgres.address(user=role)))
            postgres.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_role_with_insert_may_charge_and_nothing_else(office: Office) -> None:
    ledger = office.ledger("ana")
    charge = ledger.reserve(TENTH, question="how many?", analyst="ana", purpose="a report")
    refused: list[Callable[[], None]] = [
        lambda: ledger.record(charge, "7"),
        lambda: ledger.fail(charge, "no"),
        lambda: ledger.amend(Budget(2), reason="more"),
        lambda: ledger.amend(Budget("0.9"), analyst="ana"),
        lambda: ledger.allot(analyst="bob", budget=Budget(1)),
    ]
    for doing in refused:
        with pytest.raises(LedgerUnavailable, match="takes EXECUTE on"):
            doing()
    assert ledger.balance().charges == 2
    assert office.owner.find("how many?") is None
    office.owner.verify()


def test_a_charge_that_is_forged_as_it_should_be_is_a_charge(office: Office) -> None:
    office.append(office.next("charge", office.charge()))
    assert office.owner.balance().charges == 2
    office.owner.verify()


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Office], Entry]:
    def forged(office: Office) -> Entry:
        content = office.charge()
        change(content)
        return office.next("charge", content)

    return forged


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    *way, last, value = path

    def change(content: dict[str, Any]) -> None:
        place: Any = content
        for step in way:
            place = place[step]
        place[last] = value

    return change


def overspend(content: dict[str, Any]) -> None:
    for amount in ("epsilon", "rho"):
        content["cost"][amount] = "1000"
        for balance in content["after"].values():
            balance["spent"][amount] = str(Fraction(balance["spent"][amount]) + 1000)


def of_kind(kind: str, **content: Any) -> Callable[[Office], Entry]:
    return lambda office: office.next(kind, content)


def granted(office: Office, kind: str, analyst: str | None) -> Entry:
    after = copy.deepcopy(office.charge()["after"])
    after["vault"]["budget"]["epsilon"] = "100"
    return office.next(kind, {"strict": False, "analyst": analyst, "purpose": None, "after": after})


FORGERIES: dict[str, Callable[[Office], Entry]] = {
    "a larger budget": changed(put("after", "vault", "budget", "epsilon", "100")),
    "a larger rho": changed(put("after", "vault", "budget", "rho", "100")),
    "a budget of its own": changed(put("after", "analyst", "budget", "epsilon", "100")),
    "no budget at all": changed(put("after", "vault", "budget", None)),
    "nothing spent": changed(put("after", "vault", "spent", {"epsilon": "0", "rho": "0", "delta": "0"})),
    "less spent by the analyst": changed(put("after", "analyst", "spent", "epsilon", "0")),
    "rho taken back": changed(put("after", "vault", "spent", "rho", "1/1000000")),
    "a cost below zero": changed(put("cost", "epsilon", "-1")),
    "a cost that is not a number": changed(put("cost", "rho", "NaN")),
    "a cost of a number": changed(put("cost", "rho", 0)),
    "a division by zero": changed(put("cost", "rho", "1/0")),
    "no cost": changed(lambda content: content.pop("cost")),
    "no balances": changed(lambda content: content.pop("after")),
    "not the balance of the analyst": changed(lambda content: content["after"].pop("analyst")),
    "epsilon that is unknown": changed(put("after", "vault", "spent", "epsilon", None)),
    "the same number of questions": changed(put("after", "vault", "charges", 1)),
    "a fraction of questions": changed(put("after", "vault", "charges", 2.0)),
    "more than the budget": changed(overspend),
    "an analyst who is a number": changed(put("analyst", 5)),
    "another analyst": changed(put("analyst", "bob")),
    "no losses": changed(lambda content: content.pop("losses")),
    "an amendment": lambda office: granted(office, "amendment", None),
    "an allotment": lambda office: granted(office, "allotment", "z"),
    "an opening": lambda office: granted(office, "opening", None),
    "a release": of_kind("release", charge=3, question="x", answer="7"),
    "a failure": of_kind("failure", charge=3, question="x", reason="no"),
    "a kind that is none": of_kind("gift"),
}


def test_a_forged_entry_is_refused_by_the_server(office: Office) -> None:
    """It would catch: a charge of nothing that carries a larger budget, which a look at the kind lets pass."""
    before = office.owner.head()
    for name, forged in FORGERIES.items():
        with pytest.raises(Exception, match=r"takes|invalid|value") as refused:
            office.append(forged(office))
        assert office.owner.head() == before, (name, refused.value)
    office.owner.verify()


def test_an_entry_that_does_not_follow_is_refused_by_the_server(office: Office) -> None:
    wrong: dict[str, Any] = {"hash": "0" * 64, "time": "yesterday", "number": 9, "kind": "Charge"}
    for field, value in wrong.items():
        forged = replace(office.next("charge", office.charge()), **{field: value})
        with pytest.raises(Exception, match=r"takes|only continued"):
            office.append(forged)
    office.owner.verify()


STATEMENTS = [
    "UPDATE {table} SET body = replace(body, '1', '9')",
    "DELETE FROM {table}",
    "TRUNCATE {table}",
    "ALTER TABLE {table} DISABLE TRIGGER only_by_right",
    "DROP TRIGGER only_by_right ON {table}",
    "CREATE RULE r AS ON INSERT TO {table} DO INSTEAD NOTHING",
    "CREATE TABLE pg_temp.child () INHERITS ({table})",
    "CREATE TRIGGER zzz BEFORE INSERT ON {table} EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "ALTER TABLE {table} OWNER TO ana",
    "SET session_replication_role = replica",
    "SET ROLE service",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION postgres",
    "INSERT INTO {table} SELECT * FROM {table} ON CONFLICT (number) DO UPDATE SET body = 'x'",
    "CREATE EVENT TRIGGER t ON ddl_command_start EXECUTE FUNCTION f()",
]


def test_no_other_statement_of_the_role_gets_past_the_triggers(office: Office) -> None:
    before = office.owner.head()
    for statement in STATEMENTS:
        with pytest.raises(Exception, match=r"denied|owner|never|only|must be|forbids|violates"):
            office.as_role(statement)
        assert office.owner.head() == before, statement
    office.owner.verify()


def test_no_search_path_or_temporary_table_of_the_role_fools_the_trigger(office: Office) -> None:
    hijack = (
        "CREATE FUNCTION pg_temp.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE TEMP TABLE pg_class AS SELECT oid, (SELECT oid FROM pg_roles WHERE rolname = 'ana') AS relowner "
        "FROM pg_catalog.pg_class",
        "CREATE TEMP TABLE regclass (x int)",
        "SET search_path = pg_temp, pg_catalog",
    )
    forged = FORGERIES["a larger budget"](office)
    with pytest.raises(Exception, match="takes the owner"):
        office.append(forged, before=hijack)
    office.owner.verify()


def test_a_service_records_answers_and_sets_no_budget_unless_it_is_trusted_to(office: Office) -> None:
    service = office.ledger("service")
    service.record(service.reserve(TENTH, question="how many?"), "7")
    service.fail(service.reserve(TENTH, question="how old?"), "no")
    assert office.owner.find("how many?") == "7"
    with pytest.raises(LedgerUnavailable, match=r"takes EXECUTE on .*entries_may_amend"):
        service.amend(Budget(2, "1e-6"))
    with pytest.raises(Exception, match="takes the owner"):
        office.append(FORGERIES["a larger budget"](office), "service")
    office.owner.trust("service", budgets=True)
    service.amend(Budget(2, "1e-6"), reason="more")
    assert office.owner.balance().budget == Budget(2, "1e-6")
    service.verify()


def test_only_the_owner_trusts(office: Office) -> None:
    for role in ("ana", "service"):
        with pytest.raises(DiscreetError):
            office.ledger(role).trust("ana")
    ledger = office.ledger("ana")
    charge = ledger.reserve(TENTH, question="x")
    with pytest.raises(LedgerUnavailable, match="takes EXECUTE"):
        ledger.record(charge, "7")


def test_charges_of_every_kind_pass_the_trigger(office: Office) -> None:
    ledger = office.ledger("ana")
    losses: list[Any] = [privacy.Laplace(scale=100), [TENTH, privacy.Pure("1/7")]]
    if not office.owner.balance().budget.pure:  # type: ignore[union-attr]
        losses += [privacy.ZeroConcentrated("1/700"), privacy.Approximate("0.01", "1e-12")]
    for number, loss in enumerate(losses):
        ledger.reserve(loss, question=f"Ω李😀 {number}", analyst="Ω李😀", purpose="x\"\\'")
    for prime in (10**200 + 357, 10**200 + 627, 10**200 + 799, 10**200 + 1849):  # sums are rounded up at last
        ledger.reserve(privacy.Pure(Fraction(1, prime)), question="?", analyst="ana")
    assert ledger.balance().charges == len(losses) + 5
    office.owner.verify()


def test_a_ledger_of_an_older_discreet_goes_on_until_its_owner_trusts_a_role(office: Office) -> None:
    office.server.run(
        f"DROP FUNCTION {office.schema}.entries_only_by_right() CASCADE",
        f"DROP FUNCTION {office.schema}.entries_may_release()",
        f"DROP FUNCTION {office.schema}.entries_may_amend()",
    )
    ledger = office.ledger("service")
    ledger.record(ledger.reserve(TENTH, question="before"), "1")
    assert not office.ledger("service").guarded
    ledger.verify()
    with pytest.raises(LedgerUnavailable, match="only its owner"):
        office.ledger("ana").trust("ana")
    office.owner.trust("service")
    assert office.ledger("service").guarded
    ledger.record(ledger.reserve(TENTH, question="after"), "2")
    with pytest.raises(LedgerUnavailable, match="takes EXECUTE"):
        office.ledger("ana").amend(Budget(2))
    ledger.verify()


def test_a_removed_trigger_is_seen(office: Office) -> None:
    office.server.run(f"DROP TRIGGER only_by_right ON {office.schema}.entries")
    with pytest.raises(LedgerTampered, match="only_by_right"):
        office.owner.verify()


def test_rights_that_others_have_by_default_are_taken_from_the_functions(
    postgres: Server, postgres_address: str
) -> None:
    postgres.run("CREATE ROLE eve", "ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO eve")
    try:
        Ledger.create(postgres_address, Budget(1)).close()
        schema = identifier(Address.of(postgres_address).schema)
        for name in ("entries_may_release", "entries_may_amend"):
            asked = f"SELECT has_function_privilege('eve', '{schema}.{name}()', 'EXECUTE')"
            assert postgres.run(asked) == [(False,)]
    finally:
        postgres.run("DROP OWNED BY eve", "DROP ROLE eve")


def test_a_role_that_could_not_record_the_answer_is_not_charged(postgres: Server, postgres_address: str) -> None:
    schema = identifier(Address.of(postgres_address).schema)
    postgres.run("CREATE TABLE public.of_rights AS SELECT n, n % 90 AS age FROM generate_series(1, 500) n")
    postgres.run("CREATE ROLE ana LOGIN")
    with Vault.seal(
        Source(postgres.address(), table="public.of_rights"),
        to=postgres_address,
        person="n",
        columns={"age": Integer(0, 110)},
        budget=Budget(2),
        name="people",
    ) as vault:
        grants = [each.format(schema=schema, role="ana") for each in RIGHTS]
        postgres.run(*grants, f"GRANT SELECT ON {schema}.description, {schema}.rows TO ana")
        with Vault(postgres_address.replace("postgres@", "ana@", 1)) as hers:
            with pytest.raises(LedgerUnavailable, match="not record an answer, so nothing was charged"):
                hers.ask("select count(*) from people", epsilon=1)
            assert vault.ledger.balance().charges == 0
            vault.ledger.trust("ana")
            assert hers.ask("select count(*) from people", epsilon=1).value is not None
    close(Address.of(postgres.address(user="ana")))
    postgres.run("DROP TABLE public.of_rights", "DROP OWNED BY ana", "DROP ROLE ana")


def test_a_file_has_no_roles(tmp_path: Any) -> None:
    with Ledger.create(tmp_path / "a.ledger", Budget(1)) as ledger:
        assert ledger.guarded
        with pytest.raises(ParameterError, match="has no roles"):
            ledger.trust("service")
