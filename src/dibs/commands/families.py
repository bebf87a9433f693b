"""The commands of `dibs generate` for families of problems of all kinds, each made from its generator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter as Argument
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

from cyclopts import Parameter

from dibs.commands.making import Count, Seed, command, files, numbered, write
from dibs.generate.families import OwnFamily
from dibs.problem import Instance, Problem
from dibs.problem.stored import to_json

Output = Annotated[Path | None, Parameter(name="--output", help="a file; for more than one instance a folder")]


def command_of(family: OwnFamily) -> Callable[..., int]:
    """Its settings as flags, with the generator's defaults and what its docstring says of them."""
    hints = get_type_hints(family.make, include_extras=True)
    settings = [
        Argument(name, Argument.KEYWORD_ONLY, default=one.default, annotation=hints[name])
        for name, one in signature(family.make).parameters.items()
        if name != "seed"
    ]

    def run(count: int = 1, /, *, seed: int = 0, output: Path | None = None, **how: Any) -> int:
        said = {one.name: how.get(one.name, one.default) for one in settings}
        return _write(family, said, count, seed, output)

    arguments = [
        Argument("count", Argument.POSITIONAL_ONLY, default=1, annotation=Count),
        *settings,
        Argument("seed", Argument.KEYWORD_ONLY, default=0, annotation=Seed),
        Argument("output", Argument.KEYWORD_ONLY, default=None, annotation=Output),
    ]
    run.__name__, run.__doc__ = family.name, family.make.__doc__
    run.__annotations__ = {one.name: one.annotation for one in arguments}
    vars(run)["__signature__"] = Signature(arguments)
    return run


def _write(family: OwnFamily, how: dict[str, Any], count: int, seed: int, output: Path | None) -> int:
    """`count` instances from `seed` on."""
    target = files(count, output, family.files, ".cnf" if family.formulas else ".json", family.several)
    as_formula = numbered(command(family.name, count, **how, seed=seed))

    def make() -> Iterable[Instance]:
        family.make(seed, **how)  # what makes no sense is said before a file is begun
        return (family.make(seed + i, **how) for i in range(count))

    def text(number: int, one: Instance) -> str:
        return as_formula(number, one) if family.formulas else to_json(cast(Problem, one))

    return write(make, count, target, text)
