"""Mutants of the engines: integers must neither wrap nor round, and statements must match the plan."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

EMIT = "tests/engines/test_sql_writer.py"
DUCKDB = "tests/engines/test_duckdb.py"
STATEMENT = "tests/engines/test_statement.py"
SIZES = "tests/synth/test_person_ids.py::test_persons_have_as_many_rows_as_they_had"

ENGINES = [
    Mutant(
        "engine: rows of less than the full weight are left out",
        "engines/statement.py",
        'added = tuple(f"{FULL}.r{i} + {OTHERS}.r{i}"',
        'added = tuple(f"{FULL}.r{i}"',
        DUCKDB,
    ),
    Mutant(
        "engine: rows without a code are counted in a sum over codes",
        "engines/full_weight.py",
        'return f"{full} * COUNT({sql_writer.sql(value, limits=limits)})"',
        'return f"{full} * COUNT(*)"',
        DUCKDB,
    ),
    Mutant(
        "engine: a person with one text twice is counted twice",
        "engines/statement.py",
        "_where(where, False, once)",
        "_where(where, False)",
        DUCKDB,
    ),
    Mutant(
        "engine: the slope of a product of lines without its second half",
        "engines/full_weight.py",
        "return left[0] * right[2] + right[0] * left[2], column",
        "return left[0] * right[2], column",
        DUCKDB,
    ),
    Mutant(
        "emit: 32 bits for what needs 64",
        "engines/sql_writer.py",
        'return "INTEGER" if size < 2**31 else',
        'return "INTEGER" if size < 2**33 else',
        EMIT,
    ),
    Mutant(
        "emit: operands left in the type of their column",
        "engines/sql_writer.py",
        'return f"CAST({self.of(tree)} AS {self.dialect.types[kind]})"',
        "return self.of(tree)",
        EMIT,
    ),
    Mutant(
        "emit: the bound of a difference ignores the subtrahend",
        "engines/sql_writer.py",
        "return left[0] - right[1], left[1] - right[0]",
        "return left[0], left[1]",
        EMIT,
    ),
    Mutant(
        "emit: the bound of a product by two of its corners",
        "engines/sql_writer.py",
        "corners = [a * b for a in left for b in right]",
        "corners = [left[0] * right[0], left[1] * right[1]]",
        EMIT,
    ),
    Mutant(
        "emit: an intermediate value may be larger than the result",
        "engines/sql_writer.py",
        "return low, high, max(abs(low), abs(high), left[2], right[2])",
        "return low, high, max(abs(low), abs(high))",
        EMIT,
    ),
    Mutant(
        "emit: a quotient rounded as if it were a fraction",
        "engines/dialects.py",
        '        division="({} // {})",\n',
        '        division="CAST({} / {} AS BIGINT)",\n',
        f"{EMIT} {DUCKDB}",
    ),
    Mutant(
        "emit: a sum that may exceed 126 bits is run",
        "engines/sql_writer.py",
        "if furthest > WIDEST >> 40:",
        "if furthest > WIDEST:",
        f"{EMIT} {STATEMENT}",
    ),
    Mutant(
        "emit: PostgreSQL adds up integers and wraps",
        "engines/dialects.py",
        "total=\"SUM({} + BIGINT '0')\",",
        'total="SUM({})",',
        EMIT,
    ),
    Mutant(
        "emit: a quote ends its string",
        "engines/sql_writer.py",
        """value.replace("'", "''")""",
        "value",
        EMIT,
    ),
    Mutant(
        "emit: any text is an operator",
        "engines/sql_writer.py",
        "if tree.operator not in nodes.COMPARISONS:",
        "if False:",
        EMIT,
    ),
    Mutant(
        "nodes: parentheses are not counted",
        "engines/nodes.py",
        "size += part.size + part.compound",
        "size += part.size",
        "tests/query/test_ir.py",
    ),
    Mutant(
        "statement: a person counts with their whole weight",
        "engines/statement.py",
        "f'LEAST({int(cap)}, SUM(w)) AS p'",
        "f'SUM(w) AS p'",
        DUCKDB,
    ),
    Mutant(
        "statement: persons of one group are one person",
        "engines/statement.py",
        "GROUP BY {', '.join(['person', *named])}",
        "GROUP BY {', '.join(named or ['person'])}",
        DUCKDB,
    ),
    Mutant(
        "statement: spot forgotten beside a filter",
        "engines/statement.py",
        'conditions = [*written, *(["spot"] if spot else []), *further]',
        'conditions = [*(written or (["spot"] if spot else [])), *further]',
        f"{STATEMENT} {DUCKDB}",
    ),
    Mutant(
        "statement: rows are counted, not persons",
        "engines/statement.py",
        '("n",), ("COUNT(*)",)',
        '("n",), ("SUM(n)",)',
        SIZES,
    ),
    Mutant(
        "statement: persons with more rows than the limit get sizes of their own",
        "engines/statement.py",
        "LEAST({int(most)}, COUNT(*)) AS n",
        "COUNT(*) AS n",
        SIZES,
    ),
    Mutant(
        "DuckDB: sums beyond 64 bits are floats",
        "engines/duckdb.py",
        'self._columns(statement.select("TRY_CAST({} AS BIGINT)"))',
        "self._columns(statement.select())",
        DUCKDB,
    ),
    Mutant(
        "DuckDB: the sealed file may be written",
        "engines/duckdb.py",
        "AS sealed (READ_ONLY)",
        "AS sealed",
        DUCKDB,
    ),
    Mutant(
        "DuckDB: a damaged weight above the full one moves sums",
        "engines/duckdb.py",
        'f"sealed.{OTHERS} WHERE w <= {unit}"',
        'f"sealed.{OTHERS}"',
        DUCKDB,
    ),
    Mutant(
        "DuckDB: in one table, all rows count as of full weight",
        "engines/duckdb.py",
        'f"{self.rows.name} WHERE w = {unit}"',
        "self.rows.name",
        DUCKDB,
    ),
    Mutant(
        "duckdb: codes outside their limits are not clamped",
        "engines/duckdb.py",
        "least is None or (least >= 0 and most <= limit[1])",
        "least is None or least <= most",
        "tests/engines/test_duckdb.py",
    ),
]
