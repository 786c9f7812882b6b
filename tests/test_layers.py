"""The architecture, as tests: imports go downwards only, and importing is light."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import discreet

pytestmark = pytest.mark.xdist_group("layers")  # one worker reads all modules
SOURCE = Path(discreet.__file__).parent
LAYERS = [
    *("errors", "rational", "postgres", "render", "noise", "privacy", "mechanisms", "plots", "ledger", "engines"),
    *("schema", "release", "query", "kernel", "sealing", "oracle", "synth", "learn", "validity", "stream"),
    *("vault", "local", "audit", "client", "serve", "cli"),
]
ADBC = {"adbc_driver_manager", "adbc_driver_postgresql"}
OUTSIDE = {
    "errors": set[str](),
    "rational": set[str](),
    "postgres": ADBC,
    "render": {"numpy", "altair", "rich", "jinja2", "markupsafe"},
    "noise": {"numpy", "cryptography"},
    "privacy": {"numpy", "altair"},
    "mechanisms": {"numpy"},
    "plots": {"numpy", "altair"},
    "ledger": set[str](),
    "engines": {"numpy", "pyarrow", "duckdb", "pyspark", "py4j", *ADBC},
    "schema": {"numpy", "pyarrow"},
    "release": {"numpy", "pyarrow", "pandas", "polars", "rich", "altair"},
    "query": {"numpy", "pyarrow", "sqlglot"},
    "kernel": set[str](),
    "sealing": {"numpy", "pyarrow", "duckdb", "pandas", "polars", "pyspark", *ADBC},
    "oracle": {"numpy", "pyarrow", "altair"},
    "synth": {"numpy", "pyarrow", "pandas", "polars", "altair"},
    "learn": {"numpy", "pyarrow", "duckdb", "pandas", "polars", "sklearn", "threadpoolctl", "altair"},
    "validity": {"numpy", "altair", "pandas"},
    "stream": {"numpy", "pyarrow", "altair"},
    "vault": {"pyarrow", "pyspark", "duckdb", *ADBC},
    "local": {"numpy", "scipy", "pyarrow", "duckdb", "cryptography", "altair", "pyspark"},
    "audit": {"numpy", "scipy", "rich", "altair", "vl_convert", "markupsafe"},
    "serve": {
        *("litestar", "msgspec", "uvicorn", "h11", "argon2", "authlib", "joserfc", "httpx2"),
        *("jinja2", "markupsafe"),
        "numpy",
        "pyarrow",
        "cryptography",
        "duckdb",
        "h2",
    },
    "client": {"httpx2", "pyarrow"},
    "cli": {"numpy", "pyarrow", "rich", "typer", "pyspark"},
}
HEAVY = {
    "adbc_driver_manager",
    "adbc_driver_postgresql",
    "altair",
    "duckdb",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "scipy",
    "sklearn",
    "sqlglot",
}


def layer_of(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache  # every test of this file asks for the same modules
def imports(module: Path) -> frozenset[str]:
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute, so that a layer is seen in every one"
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or "__" not in path.name)


def test_imports_go_downwards_only() -> None:
    upwards = set()
    for module in MODULES:
        own = LAYERS.index(layer_of(module))
        for name in imports(module):
            parts = name.split(".")
            if parts[0] == "discreet" and len(parts) > 1:
                assert parts[1] in LAYERS, f"{parts[1]} has no place among the layers"
                if LAYERS.index(parts[1]) > own:
                    upwards.add(f"{module.relative_to(SOURCE)} imports {name} from above")
    assert upwards == set()


def test_the_kernel_depends_on_little() -> None:
    foreign = {
        f"{module.relative_to(SOURCE)} imports {name}"
        for module in MODULES
        for name in imports(module)
        if name.split(".")[0] not in {"discreet", *sys.stdlib_module_names, *OUTSIDE[layer_of(module)]}
    }
    assert foreign == set()


class _Imports(ast.NodeVisitor):
    """Collects the imports of a module: at the top and in functions, but not those for type checkers only."""

    def __init__(self) -> None:
        self.found: set[tuple[str, str]] = set()

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for other in node.orelse:
                self.visit(other)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found |= {(alias.name, "") for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.found |= {(node.module or "", alias.name) for alias in node.names}


def module_graph(source: Path) -> dict[str, set[str]]:
    """Return which modules of a package each of its modules imports, now or later."""
    paths = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {}
    for name, path in paths.items():
        visitor = _Imports()
        visitor.visit(ast.parse(path.read_text()))
        full = {f"{module}.{one}" if f"{module}.{one}" in paths else module for module, one in visitor.found}
        graph[name] = (full & set(paths)) - {name}
    return graph


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of a cycle; nothing if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return list(found.args[1])
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Lazy imports count: a function that must import late to break a cycle is in the wrong module."""
    assert cycle_in(module_graph(SOURCE)) == []


def test_a_lazy_cycle_is_found_and_one_for_types_only_is_not(tmp_path: Path) -> None:
    package = tmp_path / "it"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from it import b\n")
    late = "    from it.a import x\n"
    (package / "b.py").write_text(f"if TYPE_CHECKING:\n{late}")
    assert cycle_in(module_graph(package)) == []
    (package / "b.py").write_text(f"def late():\n{late}")
    assert set(cycle_in(module_graph(package))) == {"it.a", "it.b"}


def test_only_the_parser_knows_sqlglot() -> None:
    """What an engine runs is made of our own nodes; the analyst's tree ends where it is read."""
    for module in MODULES:
        if module.parent != SOURCE / "query" / "parse":
            assert not any(name.split(".")[0] == "sqlglot" for name in imports(module)), module


def test_privacy_does_not_know_how_noise_is_made() -> None:
    for module in MODULES:
        if layer_of(module) == "privacy":
            assert not any(name.startswith("discreet.noise") for name in imports(module))


def test_noise_never_comes_from_a_statistical_generator() -> None:
    guilty = [
        module.relative_to(SOURCE)
        for module in MODULES
        if {"random", "numpy.random"} & imports(module) or "np.random" in module.read_text()
    ]
    assert guilty == []


def seconds_to(statement: str, *, after: str = "pass") -> float:
    """CPU time of a statement in a fresh interpreter, the best of five."""
    code = f"{after}; import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    runs = (subprocess.run([sys.executable, "-c", code], check=True, capture_output=True) for _ in range(5))
    return min(float(run.stdout) for run in runs)


def test_importing_discreet_takes_no_time() -> None:
    assert seconds_to("import discreet") < 0.1


def test_the_whole_kernel_loads_quickly_once_numpy_is_there() -> None:
    assert seconds_to("import discreet; discreet.mechanisms, discreet.privacy", after="import numpy") < 0.5


def test_importing_everything_pulls_in_no_engine_and_no_plotting() -> None:
    code = "import sys, discreet; [getattr(discreet, n) for n in discreet.__all__]; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not HEAVY & {name.split(".")[0] for name in loaded.split()}


def test_only_the_kernel_charges_and_records() -> None:
    """`kernel.spend` is the one place where budget is spent; the auditor attacks ledgers of its own."""
    calls = re.compile(r"\.(reserve|record)\(")
    found = {
        module.relative_to(SOURCE).as_posix()
        for module in MODULES
        if calls.search(re.sub(r">>>.*|\.\.\. .*", "", module.read_text()))
    }
    assert {name for name in found if not name.startswith(("ledger/", "audit/"))} == {
        "kernel/payer.py",
        "kernel/spend.py",
    }


def test_no_package_uses_private_attributes_of_another() -> None:
    reach = re.compile(r"\b(vault|ledger|engine|table)\._[a-z]")
    assert not [module.name for module in MODULES if reach.search(module.read_text())]


PACKAGES = ("noise", "privacy", "mechanisms", "oracle", "synth", "stream", "local", "audit")


@pytest.mark.parametrize("name", ["discreet", *(f"discreet.{package}" for package in PACKAGES)])
def test_all_names_what_is_public_and_documented(name: str) -> None:
    package = importlib.import_module(name)
    assert sorted(package.__all__) == list(dict.fromkeys(sorted(package.__all__)))
    submodules = {info.name for info in pkgutil.iter_modules(package.__path__)}
    public = {n for n in vars(package) if not n.startswith("_")} - submodules - {"annotations"}
    if name != "discreet":
        assert public <= set(package.__all__)
    for exported in set(package.__all__) - {"__version__"}:
        assert getattr(package, exported).__doc__, f"{name}.{exported} has no docstring"


def test_an_unknown_name_is_refused_in_words() -> None:
    with pytest.raises(AttributeError, match="it has AsyncClient, Boolean, Budget"):
        discreet.vaults  # noqa: B018
