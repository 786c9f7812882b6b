"""Triggers that keep a table as it is: what they stop raises, for whoever it is.

They stop mistakes, and everybody whom the server's rights let no further. The owner of a table can take them away.
They are statements of their own to `pg_dump`, which writes them after the rows, so that a dump can be restored.
"""

from __future__ import annotations

# ALWAYS: also for a session that plays the part of a replica, in which triggers sleep otherwise.
_TRIGGER = """
    CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
    AS $trigger$
        BEGIN
            {body}
        END
    $trigger$;
    CREATE TRIGGER {name} {event} EXECUTE FUNCTION {function}();
    ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name};
"""


def guard(table: str, *, function: str, name: str, event: str, body: str) -> str:
    """Return the statements that make a trigger. `event` is SQL in which {table} stands for the table.

    >>> made = guard("t", function="f", name="n", event="BEFORE DELETE ON {table}", body="RAISE EXCEPTION 'no';")
    >>> "CREATE TRIGGER n BEFORE DELETE ON t EXECUTE FUNCTION f()" in made
    True
    """
    return _TRIGGER.format(
        table=table, function=function, name=name, event=event.replace("{table}", table), body=body
    )
