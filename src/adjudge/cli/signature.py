"""What a public function takes, read from its source: no room is imported, so help starts fast."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

#: The default of an argument that must be given, and of one whose default is computed.
REQUIRED: Final = object()
COMPUTED: Final = object()
#: The part of a docstring that explains the arguments, and an entry of it.
_SECTION = re.compile(r"^(?:Args|Attributes):\n(.*?)(?=^\S|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*|\n(?=\n {5,}))*)", re.MULTILINE)
#: The space between two sentences: not after an abbreviation, not before a small letter.
_SENTENCE_END = re.compile(r"(?<!Eq\.)(?<!e\.g\.)(?<!i\.e\.)(?<=[.!?]) (?=[^a-z.])")
#: A sentence about a default that is computed from the data.
_DEFAULT = re.compile(r"(?:Default: |By default (?!it )|The default is )(.*?)\.?")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument: the members of its type as written, its default, and its text in sentences."""

    module: str
    name: str
    types: tuple[str, ...]
    default: Any
    sentences: tuple[str, ...]

    @property
    def help(self) -> str:
        """The first sentence, which holds for Python and for the command line."""
        return next((text for text in self.sentences if not _DEFAULT.fullmatch(text)), "")

    @property
    def takes_literals(self) -> bool:
        """Whether a name in its type stands for a type `Literal[...]`."""
        return any(_is_literal(self.module, member) for member in self.types)

    @property
    def default_in_words(self) -> str | None:
        """What a sentence such as "Default: ..." says."""
        matches = map(_DEFAULT.fullmatch, self.sentences)
        return next((match[1].replace("`", "") for match in matches if match), None)


@cache
def read_arguments(target: str) -> dict[str, Argument]:
    """The arguments of the function, or the fields of the class, at "package.module:name".

    `**options: Unpack[Reading]` stands for the keys of the class Reading. An argument of a class
    that a decorator names, as in `@takes(JudgingOptions)`, stands for the fields of the class and
    of its bases.

    >>> arguments = read_arguments("adjudge.diagnosis:diagnose_bias")
    >>> arguments["floor"].types, arguments["floor"].default
    (('float',), 0.03)
    """
    module, node = _definition(*target.split(":"))
    return {argument.name: argument for argument in _arguments(module, node)}


def _arguments(module: str, node: ast.AST) -> Iterator[Argument]:
    texts = _texts(node)
    declared: list[tuple[str, ast.expr | None, ast.expr | None]] = []
    optional = False
    rest = None
    spread = set[str]()
    inherited = list[ast.expr]()
    if isinstance(node, ast.ClassDef):
        for base in node.bases:
            yield from _arguments(*_definition(module, ast.unparse(base)))
        fields = [line for line in node.body if isinstance(line, ast.AnnAssign)]
        declared = [(ast.unparse(line.target), line.annotation, line.value) for line in fields]
        optional = any(keyword.arg == "total" for keyword in node.keywords)  # of a TypedDict
        inherited = [base for base in node.bases if optional and ast.unparse(base) != "TypedDict"]
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        declared = _parameters(node.args)
        rest = node.args.kwarg
        calls = [line for line in node.decorator_list if isinstance(line, ast.Call)]
        spread = {ast.unparse(value) for call in calls for value in call.args}
    for name, annotation, default in declared:
        if annotation is not None and ast.unparse(annotation) in spread:
            yield from _arguments(*_definition(module, ast.unparse(annotation)))
            continue
        value = None if optional else _constant(module, default)
        yield Argument(module, name, _members(annotation), value, texts.get(name, ()))
    if rest is not None and isinstance(rest.annotation, ast.Subscript):  # Unpack[Reading]
        inherited = [rest.annotation.slice]
    for name_of in inherited:
        yield from _arguments(*_definition(module, ast.unparse(name_of)))


def _parameters(declared: ast.arguments) -> list[tuple[str, ast.expr | None, ast.expr | None]]:
    plain = [*declared.posonlyargs, *declared.args]
    unset: list[ast.expr | None] = [None] * (len(plain) - len(declared.defaults))
    defaults = [*unset, *declared.defaults, *declared.kw_defaults]
    both = zip([*plain, *declared.kwonlyargs], defaults, strict=True)
    return [(argument.arg, argument.annotation, default) for argument, default in both]


def _texts(node: ast.AST) -> dict[str, tuple[str, ...]]:
    """The sentences about each argument."""
    docstring = ast.get_docstring(node) if isinstance(node, _DEFINITIONS) else None
    section = _SECTION.search(docstring or "")
    entries = _ENTRY.findall(section[1]) if section else []
    return {name: tuple(_SENTENCE_END.split(" ".join(text.split()))) for name, text in entries}


def _members(annotation: ast.expr | None) -> tuple[str, ...]:
    if isinstance(annotation, ast.BinOp):
        return (*_members(annotation.left), *_members(annotation.right))
    return () if annotation is None else (ast.unparse(annotation),)


def _is_literal(module: str, member: str) -> bool:
    if member.isidentifier() and not hasattr(builtins, member):
        value = getattr(_definition(module, member)[1], "value", None)
        member = "" if value is None else ast.unparse(value)
    return member.startswith("Literal[")


def _constant(module: str, node: ast.AST | None) -> Any:
    """A default: a literal, or a constant of this or another module."""
    if node is None:
        return REQUIRED
    if isinstance(node, ast.Call):  # field(default=...)
        node = next((word.value for word in node.keywords if word.arg == "default"), node)
    if isinstance(node, ast.Name):
        module, node = _definition(module, node.id)
        return _constant(module, getattr(node, "value", node))
    try:
        return ast.literal_eval(node)
    except ValueError:
        return COMPUTED


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _definition(module: str, name: str) -> tuple[str, ast.AST]:
    """The module and the statement that define a name; imports from our packages are followed."""
    packages = (module.partition(".")[0], "adjudge")
    for node in _statements(_parse(module).body):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    ours = node.module.partition(".")[0] in packages
                    return _definition(node.module, alias.name) if ours else (module, node)
        elif isinstance(node, _DEFINITIONS):
            if node.name == name:
                return module, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if name in map(ast.unparse, targets):
                return module, node
    raise LookupError(f"{module} has no {name}")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module; those under `if TYPE_CHECKING` too. The last definition counts:
    the ones before it are its overloads."""
    for node in reversed(body):
        yield from _statements(node.body) if isinstance(node, ast.If) else (node,)


@cache
def _parse(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text(encoding="utf-8"))


def _file(module: str) -> Path:
    package, *names = module.split(".")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise LookupError(f"the package {package} is not installed")
    path = Path(spec.origin).parent.joinpath(*names)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
