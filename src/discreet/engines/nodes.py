"""Define the nodes of the expressions that engines evaluate.

An expression is an immutable tree. Two trees with the same parts are equal and have the same hash, so a plan
compares expressions and looks them up without writing SQL. Size, depth and hash are computed once, when a node is
made, from those of its parts. A subtree may be part of several trees.

Over sealed rows an expression is an integer, a truth value or a string; `discreet.query.ir` builds these. `Float`,
`Divide`, `Floor`, `Abs`, `Coalesce` and `Call` read the values of a source before it is sealed
(`discreet.schema.casts`). `discreet.engines.sql_writer` writes a tree as SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias


class Expression:
    """A node with its parts.

    `size` counts nodes and `depth` counts levels. Both include the name inside a column, the WHEN of a CASE, and
    the parentheses around compound operands: they bound the text that an engine has to parse.

    >>> tree = Add(Column("c0"), Int(1))
    >>> tree == Add(Column("c0"), Int(1)), tree.size, tree.depth, str(Mul(tree, tree))
    (True, 4, 3, '(c0 + 1) * (c0 + 1)')
    """

    __slots__ = ("_hash", "depth", "parts", "size")

    compound: ClassVar[bool] = False
    """Whether the node stands in parentheses as an operand."""

    parts: tuple[Expression, ...]
    size: int
    depth: int
    _hash: int

    def __post_init__(self) -> None:
        parts = self._operands()
        size, depth = 1, 0
        for part in parts:
            size += part.size + part.compound
            depth = max(depth, part.depth + part.compound)
        self._measure(parts, size, depth + 1)

    def _operands(self) -> tuple[Expression, ...]:
        return ()

    def _measure(self, parts: tuple[Expression, ...], size: int, depth: int) -> None:
        # The dataclasses are frozen, so derived values are set as their own __init__ sets the fields.
        put = object.__setattr__
        put(self, "parts", parts)
        put(self, "size", size)
        put(self, "depth", depth)
        put(self, "_hash", hash((type(self), self._fields())))

    def _fields(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.__match_args__])  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expression) or self._hash != other._hash or type(self) is not type(other):
            return False
        return self._fields() == other._fields()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self._fields()  # what is derived is derived again

    def sql(self) -> str:
        """Return readable SQL, with names unquoted. The SQL writer writes what engines get."""
        return str(self)

    def walk(self) -> Iterator[Expression]:
        """Return all nodes of the tree, without recursion."""
        stack: list[Expression] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.parts)


def _operand(tree: Expression) -> str:
    return f"({tree})" if tree.compound else str(tree)


@dataclass(frozen=True, eq=False, slots=True)
class Column(Expression):
    """A column, by its name."""

    name: str

    def __post_init__(self) -> None:
        self._measure((), 2, 2)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class Int(Expression):
    """An integer; trees over sealed rows have no negative ones."""

    value: int

    def __str__(self) -> str:
        return f"{self.value:d}"


@dataclass(frozen=True, eq=False, slots=True)
class Float(Expression):
    """A floating-point number, written with an exponent so that every engine reads a double."""

    value: float

    def __str__(self) -> str:
        text = repr(self.value)
        return text if "e" in text else f"{text}e0"


@dataclass(frozen=True, eq=False, slots=True)
class Text(Expression):
    """A string."""

    value: str

    def __str__(self) -> str:
        return "'" + self.value.replace("'", "''") + "'"


@dataclass(frozen=True, eq=False, slots=True)
class Null(Expression):
    """NULL."""

    def __str__(self) -> str:
        return "NULL"


@dataclass(frozen=True, eq=False, slots=True)
class Boolean(Expression):
    """TRUE or FALSE."""

    value: bool

    def __str__(self) -> str:
        return "TRUE" if self.value else "FALSE"


@dataclass(frozen=True, eq=False, slots=True)
class Binary(Expression):
    """An operator between two operands."""

    compound: ClassVar[bool] = True
    symbol: ClassVar[str] = ""

    left: Expression
    right: Expression

    def _operands(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def __str__(self) -> str:
        return f"{_operand(self.left)} {self.symbol} {_operand(self.right)}"


@dataclass(frozen=True, eq=False, slots=True)
class Arithmetic(Binary):
    """An operator whose operands and result are integers."""


@dataclass(frozen=True, eq=False, slots=True)
class Add(Arithmetic):
    """left + right."""

    symbol = "+"


@dataclass(frozen=True, eq=False, slots=True)
class Sub(Arithmetic):
    """left − right."""

    symbol = "-"


@dataclass(frozen=True, eq=False, slots=True)
class Mul(Arithmetic):
    """left · right."""

    symbol = "*"


@dataclass(frozen=True, eq=False, slots=True)
class FloorDiv(Arithmetic):
    """⌊left / right⌋, where right is a positive constant."""

    symbol = "//"


@dataclass(frozen=True, eq=False, slots=True)
class Divide(Binary):
    """left / right, of floating-point numbers of a source."""

    symbol = "/"


@dataclass(frozen=True, eq=False, slots=True)
class And(Binary):
    """left AND right, in three-valued logic."""

    symbol = "AND"


@dataclass(frozen=True, eq=False, slots=True)
class Or(Binary):
    """left OR right, in three-valued logic."""

    symbol = "OR"


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
"""Operators of a comparison."""


@dataclass(frozen=True, eq=False, slots=True)
class Compare(Expression):
    """A comparison: the operator is one of = <> < <= > and >=."""

    compound: ClassVar[bool] = True

    operator: str
    left: Expression
    right: Expression

    def _operands(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def __str__(self) -> str:
        return f"{_operand(self.left)} {self.operator} {_operand(self.right)}"


@dataclass(frozen=True, eq=False, slots=True)
class Unary(Expression):
    """An operator or a function of one operand."""

    operand: Expression

    def _operands(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, eq=False, slots=True)
class Neg(Unary):
    """−operand."""

    compound = True

    def __str__(self) -> str:
        return f"-{_operand(self.operand)}"


@dataclass(frozen=True, eq=False, slots=True)
class Not(Unary):
    """NOT operand: NULL where the operand is."""

    compound = True

    def __str__(self) -> str:
        return f"NOT {_operand(self.operand)}"


@dataclass(frozen=True, eq=False, slots=True)
class IsNull(Unary):
    """operand IS NULL: true or false, never NULL."""

    compound = True

    def __post_init__(self) -> None:
        inner = self.operand
        self._measure((inner,), 2 + inner.size + inner.compound, 1 + inner.depth + inner.compound)

    def __str__(self) -> str:
        return f"{_operand(self.operand)} IS NULL"


@dataclass(frozen=True, eq=False, slots=True)
class Floor(Unary):
    """⌊operand⌋ of a floating-point number."""

    def __str__(self) -> str:
        return f"FLOOR({self.operand})"


@dataclass(frozen=True, eq=False, slots=True)
class Abs(Unary):
    """|operand|."""

    def __str__(self) -> str:
        return f"ABS({self.operand})"


@dataclass(frozen=True, eq=False, slots=True)
class In(Expression):
    """operand IN (values)."""

    compound: ClassVar[bool] = True

    operand: Expression
    values: tuple[Expression, ...]

    def _operands(self) -> tuple[Expression, ...]:
        return self.operand, *self.values

    def __str__(self) -> str:
        return f"{_operand(self.operand)} IN ({', '.join(map(str, self.values))})"


@dataclass(frozen=True, eq=False, slots=True)
class Like(Expression):
    """operand LIKE pattern, or ILIKE if it is caseless; % matches any characters and _ matches one."""

    compound: ClassVar[bool] = True

    operand: Expression
    pattern: str
    caseless: bool = False

    def __post_init__(self) -> None:
        inner = self.operand
        self._measure((inner,), 2 + inner.size + inner.compound, 1 + inner.depth + inner.compound)

    def __str__(self) -> str:
        return f"{_operand(self.operand)} {'ILIKE' if self.caseless else 'LIKE'} {Text(self.pattern)}"


Branch: TypeAlias = tuple[Expression, Expression]
"""A condition, and the value where it is the first that is true."""


@dataclass(frozen=True, eq=False, slots=True)
class Case(Expression):
    """CASE WHEN … THEN … ELSE … END; NULL where no branch is taken and there is no default."""

    branches: tuple[Branch, ...]
    default: Expression | None = None

    def __post_init__(self) -> None:
        otherwise = () if self.default is None else (self.default,)
        parts = (*(part for branch in self.branches for part in branch), *otherwise)
        size = 1 + len(self.branches) + sum([part.size for part in parts])
        whens = [2 + max(condition.depth, value.depth) for condition, value in self.branches]
        self._measure(parts, size, max([*whens, *(1 + part.depth for part in otherwise)]))

    @property
    def outcomes(self) -> tuple[Expression, ...]:
        """The values that the expression may take, the default last."""
        return (*(value for _, value in self.branches), *(() if self.default is None else (self.default,)))

    def __str__(self) -> str:
        whens = "".join([f" WHEN {condition} THEN {value}" for condition, value in self.branches])
        return f"CASE{whens}{'' if self.default is None else f' ELSE {self.default}'} END"


@dataclass(frozen=True, eq=False, slots=True)
class Coalesce(Expression):
    """The first operand that is not NULL."""

    operands: tuple[Expression, ...]

    def _operands(self) -> tuple[Expression, ...]:
        return self.operands

    def __str__(self) -> str:
        return f"COALESCE({', '.join(map(str, self.operands))})"


@dataclass(frozen=True, eq=False, slots=True)
class Call(Expression):
    """A call of one of our own functions, which each dialect writes in its way."""

    name: str
    arguments: tuple[Expression, ...]

    def _operands(self) -> tuple[Expression, ...]:
        return self.arguments

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"
