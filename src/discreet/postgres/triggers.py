"""Write triggers that keep a table as it is: a forbidden statement raises, whichever role runs it.

They stop mistakes, and every role that has no right to alter the table. The owner of a table can remove them.
`pg_dump` writes them after the rows, so a dump can be restored.
"""

from __future__ import annotations

# ALWAYS: also in a session with the role of a replica, in which other triggers do not run.
_TRIGGER = """
    CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    AS $trigger$
        BEGIN
            {body}
        END
    $trigger$;
    CREATE TRIGGER {name} {event} EXECUTE FUNCTION {function}();
    ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name};
"""


def guard(table: str, *, function: str, name: str, event: str, body: str) -> str:
    """Return the statements that make a trigger.

    Args:
        table: The table, as SQL writes its name.
        function: The name of the function that the trigger runs.
        name: The name of the trigger.
        event: The event as SQL, in which {table} stands for the table.
        body: The body of the function, in PL/pgSQL.

    >>> made = guard("t", function="f", name="n", event="BEFORE DELETE ON {table}", body="RAISE EXCEPTION 'no';")
    >>> "CREATE TRIGGER n BEFORE DELETE ON t EXECUTE FUNCTION f()" in made
    True
    """
    return _TRIGGER.format(
        table=table, function=function, name=name, event=event.replace("{table}", table), body=body
    )
