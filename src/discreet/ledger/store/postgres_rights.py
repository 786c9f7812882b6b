"""Decide which role of a PostgreSQL server may append which entry: a trigger asks, for every INSERT and COPY.

    owner of the table                        every entry
    EXECUTE on entries_may_amend()            allotments and amendments, and charges
    EXECUTE on entries_may_release()          releases and failures, and charges: the service that answers
    INSERT on the table alone                 charges

The two functions do nothing: the right to execute them is what the trigger asks for. So rights are granted with
GRANT, are dumped with the database, and only the owner grants them.

A charge is an entry that any of these roles may append, and it carries the balances after it. So it is not
enough to look at its kind: a charge of nothing that carries a larger budget would raise the budget. For every
role but the owner the trigger therefore checks that a charge follows from the entries before: its hash and its
search keys, the same budget as before for every account, one question more, and at least the old spending plus
its cost, in exact arithmetic, within the budget. What remains possible with INSERT alone is to waste budget.

The role is `current_user`: after SET ROLE, and inside of a function with SECURITY DEFINER, the role whose rights
count everywhere else. The function has a search_path of its own, so no function, operator or table of another
schema is called instead. UPDATE, DELETE and TRUNCATE are refused by other triggers, and a role without ownership
can neither disable a trigger nor make a rule, a child table or a trigger on the table.
"""

from __future__ import annotations

MAY_RELEASE = "entries_may_release"
"""The function whose EXECUTE right lets a role record answers."""

MAY_AMEND = "entries_may_amend"
"""The function whose EXECUTE right lets a role set budgets."""

TRIGGER = "only_by_right"
"""The name of the trigger."""

EVENT = "BEFORE INSERT ON {table} FOR EACH ROW"
"""When it runs: before its sibling `only_continued`, which looks at the number."""

BODY = r"""
    DECLARE
        may TEXT := CASE WHEN NEW.kind IN ('release', 'failure') THEN 'entries_may_release'
            WHEN NEW.kind IN ('allotment', 'amendment') THEN 'entries_may_amend' END;
        body JSON;
        carried JSON;
        before JSON;
        account TEXT;
        amount TEXT;
        previous TEXT;
        n TEXT[];    -- spent before, cost, spent after, and at most, as JSON writes them
        p NUMERIC[]; -- their numerators
        q NUMERIC[]; -- their denominators
    BEGIN
        IF pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
            RETURN NEW;
        END IF;
        IF may IS NOT NULL AND has_function_privilege(format('%I.%I()', TG_TABLE_SCHEMA, may), 'EXECUTE') THEN
            RETURN NEW;
        END IF;
        IF NEW.kind IS DISTINCT FROM 'charge' THEN
            RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = format(
                'an entry of the kind %s takes %s', NEW.kind,
                CASE WHEN may IS NULL THEN 'the owner of the ledger'
                    ELSE format('EXECUTE on %I.%I()', TG_TABLE_SCHEMA, may) END);
        END IF;
        body := NEW.body::json;
        EXECUTE format('SELECT hash FROM %s WHERE number = $1', TG_RELID::regclass)
            INTO previous USING NEW.number - 1;
        IF (NEW.hash = encode(sha256(convert_to(
                concat_ws(E'\n', previous, NEW.number, NEW.time, NEW.kind, NEW.body), 'UTF8')), 'hex')
            AND NEW.time ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z$'
            AND NEW.question = encode(sha256(convert_to(body->>'question', 'UTF8')), 'hex')
            AND NEW.analyst IS NOT DISTINCT FROM (body->>'analyst')
            AND NEW.purpose IS NOT DISTINCT FROM (body->>'purpose')
            AND NEW.charge IS NULL AND body->'charge' IS NULL
            AND json_typeof(body->'question') = 'string' AND json_typeof(body->'losses') = 'array'
            AND json_typeof(body->'analyst') IN ('string', 'null')
            AND json_typeof(body->'purpose') IN ('string', 'null')) IS NOT TRUE
        THEN
            RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                MESSAGE = 'a charge whose hash or keys do not follow takes the owner of the ledger';
        END IF;
        FOREACH account IN ARRAY ARRAY['vault', 'analyst', 'purpose'] LOOP
            carried := body->'after'->account;
            CONTINUE WHEN carried IS NULL AND account <> 'vault' AND body->>account IS NULL;
            EXECUTE format($latest$
                SELECT body::json FROM %s
                WHERE CASE $1 WHEN 'vault' THEN kind NOT IN ('release', 'failure')
                    WHEN 'analyst' THEN analyst = $2 ELSE purpose = $2 END
                ORDER BY number DESC LIMIT 1
                $latest$, TG_RELID::regclass) INTO before USING account, body->>account;
            before := coalesce(before->'after'->account,
                '{"budget": null, "spent": {"epsilon": "0", "rho": "0", "delta": "0"}, "charges": 0}'::json);
            IF ((carried->'budget')::jsonb = (before->'budget')::jsonb AND carried->>'charges' ~ '^[0-9]+$'
                AND (carried->>'charges')::numeric = (before->>'charges')::numeric + 1) IS NOT TRUE
            THEN
                RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                    MESSAGE = 'a charge that changes a budget takes the owner of the ledger';
            END IF;
            FOREACH amount IN ARRAY ARRAY['epsilon', 'rho', 'delta'] LOOP
                n := ARRAY[(before->'spent'->amount)::text, (body->'cost'->amount)::text,
                    (carried->'spent'->amount)::text];
                -- A budget without rho limits epsilon, and one with it limits rho.
                n := n || CASE WHEN carried->>'budget' IS NOT NULL AND amount <> 'delta'
                        AND (amount = 'rho') = (carried->'budget'->>'rho' IS NOT NULL)
                    THEN (carried->'budget'->amount)::text ELSE n[3] END;
                CONTINUE WHEN amount = 'epsilon' AND 'null' IN (n[1], n[2]) AND n[3] = 'null' AND n[4] = 'null';
                IF (SELECT bool_and(each ~ '^"[0-9]+(/[1-9][0-9]*)?"$') FROM unnest(n) each) IS NOT TRUE
                    OR array_position(n, NULL) IS NOT NULL
                THEN
                    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                        MESSAGE = 'a charge without its amounts takes the owner of the ledger';
                END IF;
                SELECT array_agg(split_part(each, '/', 1)::numeric ORDER BY place),
                    array_agg(coalesce(nullif(split_part(each, '/', 2), ''), '1')::numeric ORDER BY place)
                    INTO p, q FROM (SELECT btrim(quoted, '"') AS each, place
                        FROM unnest(n) WITH ORDINALITY AS every(quoted, place)) AS plain;
                -- The difference is 0, or what the ledger rounds up by, at most 10^-300.
                IF p[3] * q[1] * q[2] < (p[1] * q[2] + p[2] * q[1]) * q[3]
                    OR (p[3] * q[1] * q[2] - (p[1] * q[2] + p[2] * q[1]) * q[3]) * (10::numeric ^ 300)
                        > q[1] * q[2] * q[3]
                    OR p[3] * q[4] > p[4] * q[3]
                THEN
                    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                        MESSAGE = 'a charge that does not add up or fit takes the owner of the ledger';
                END IF;
            END LOOP;
        END LOOP;
        RETURN NEW;
    END;
"""
"""The body of the trigger's function, in PL/pgSQL."""

FUNCTIONS = """
    CREATE FUNCTION {schema}.entries_may_release() RETURNS BOOLEAN LANGUAGE sql AS 'SELECT true';
    CREATE FUNCTION {schema}.entries_may_amend() RETURNS BOOLEAN LANGUAGE sql AS 'SELECT true';
    COMMENT ON FUNCTION {schema}.entries_may_release() IS 'EXECUTE lets a role record answers in the ledger';
    COMMENT ON FUNCTION {schema}.entries_may_amend() IS 'EXECUTE lets a role set budgets in the ledger';
"""
"""The statements that make the two functions."""

GRANTEES = """
    SELECT DISTINCT pg_catalog.quote_ident(r.rolname) FROM pg_catalog.pg_proc p
    CROSS JOIN LATERAL pg_catalog.aclexplode(p.proacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
    WHERE p.oid = pg_catalog.to_regprocedure(?) AND a.grantee <> p.proowner
"""
"""The roles that have a right to a function, by ALTER DEFAULT PRIVILEGES."""

OWNED = """
    SELECT pg_catalog.pg_has_role(c.relowner, 'USAGE') FROM pg_catalog.pg_class c
    WHERE c.oid = pg_catalog.to_regclass(?)
"""
"""Whether this role is the owner. GRANT by another role only warns, and grants nothing."""

GUARDED = "SELECT pg_catalog.to_regprocedure(?) IS NOT NULL"
"""Whether the ledger has the trigger's function: those that an older Discreet made have not."""

ALLOWED = "SELECT pg_catalog.has_function_privilege(pg_catalog.to_regprocedure(?)::oid, 'EXECUTE')"
"""Whether this role may record answers; NULL where there is no such function, and so no restriction."""
