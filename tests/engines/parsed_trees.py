"""Build expressions from SQL text, to keep tests short."""

from __future__ import annotations

from typing import Any

from sqlglot import exp, parse_one

from discreet.engines import nodes
from discreet.engines.nodes import Expression

_BINARY: dict[type, Any] = {
    exp.Add: nodes.Add,
    exp.Sub: nodes.Sub,
    exp.Mul: nodes.Mul,
    exp.IntDiv: nodes.FloorDiv,
    exp.Div: nodes.Divide,
    exp.And: nodes.And,
    exp.Or: nodes.Or,
}
_COMPARISONS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


class Foreign(Expression):
    """A node that no engine knows."""

    __slots__ = ("name",)
    __match_args__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.__post_init__()


def tree(text: str) -> Expression:
    """Parse an expression; a node of sqlglot that we do not have becomes a foreign one."""
    return _converted(parse_one(text, read="duckdb"))


def _converted(node: Any) -> Expression:
    if type(node) in _BINARY:
        found: Expression = _BINARY[type(node)](_converted(node.this), _converted(node.expression))
        return found
    if type(node) in _COMPARISONS:
        return nodes.Compare(_COMPARISONS[type(node)], _converted(node.this), _converted(node.expression))
    match node:
        case exp.Paren():
            return _converted(node.this)
        case exp.Column():
            return nodes.Column(node.name)
        case exp.Literal():
            return nodes.Text(node.this) if node.is_string else nodes.Int(int(node.this))
        case exp.Null():
            return nodes.Null()
        case exp.Neg():
            return nodes.Neg(_converted(node.this))
        case exp.Not():
            return nodes.Not(_converted(node.this))
        case exp.Abs():
            return nodes.Abs(_converted(node.this))
        case exp.Is() if isinstance(node.expression, exp.Null):
            return nodes.IsNull(_converted(node.this))
        case exp.In():
            return nodes.In(_converted(node.this), tuple(map(_converted, node.expressions)))
        case exp.Like() | exp.ILike():
            return nodes.Like(_converted(node.this), node.expression.this, isinstance(node, exp.ILike))
        case exp.Case():
            branches = tuple((_converted(part.this), _converted(part.args["true"])) for part in node.args["ifs"])
            default = node.args.get("default")
            return nodes.Case(branches, None if default is None else _converted(default))
        case exp.Anonymous():
            return nodes.Call(str(node.this), tuple(map(_converted, node.expressions)))
    return Foreign(type(node).__name__)
