"""Where the nodes of a search went: the call that `dibs explain` and notebooks make."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dibs.guide import card
from dibs.notebook import progress
from dibs.problem import Instance
from dibs.search.guidance import Guidance
from dibs.search.options import Options
from dibs.search.plan import Request, without_guide
from dibs.search.policies import POLICIES

if TYPE_CHECKING:
    from dibs.study.explain import Explained, ToExplain

__all__ = ["Explanation", "explain"]

MOST = 1_000_000  # nodes of a search, unless max_nodes says otherwise: the events of all of them are kept
SIBLING = 100_000  # nodes after which the measurement of a sibling is given up
WIDTH = 100  # of tables that do not go to a terminal
ORDERS = ("ascending", "lcv", "mcv", "random", "oracle")


@dataclass(frozen=True, repr=False)
class Explanation:
    """One search, or two of the same puzzle, decision by decision.

    `print` shows tables, a notebook the trees; `searches` has every number: of each search its `nodes` and its
    `ledger`, which says for each decision what the values before the right one cost, and those after it would have.
    """

    instance: Instance
    searches: tuple[Explained, ...]

    def svg(self) -> str:
        """The search trees as a figure, and the nodes by depth: what `dibs explain --svg` writes.

        Returns:
            The text of an SVG file.
        """
        from dibs.report.explain import panels
        from dibs.report.tree import svg

        return svg(panels(self.searches))

    def as_dict(self, line: int = 1) -> dict[str, Any]:
        """All numbers, as `dibs explain --json` has them.

        Args:
            line: where the puzzle begins in its file, for the key `id`.

        Returns:
            A dictionary that JSON can have.
        """
        from dibs.report.explain import as_dict

        return as_dict(self.instance, line, self.searches)

    def __str__(self) -> str:
        from rich.console import Console

        from dibs.report.explain import tables

        text = StringIO()
        console = Console(file=text, width=WIDTH, color_system=None, force_jupyter=False)
        for part in tables(self.instance, self.searches):
            console.print(part, markup=False, highlight=False)
        return text.getvalue()

    def __repr__(self) -> str:
        return f"<{', '.join(f'{search.name}: {search.nodes:,} nodes' for search in self.searches)}>"

    def _repr_html_(self) -> str:
        """The trees, and in a line what both cost; a picture, since the styles of an SVG would reach the whole page."""
        from dibs.report.explain import compared, identity

        told = [f"{search.name}: {identity(search)}" for search in self.searches]
        told += [compared(*self.searches)] if len(self.searches) == 2 else []
        picture = b64encode(self.svg().encode()).decode()
        alt = escape(f"Search trees: {', '.join(search.name for search in self.searches)}")
        style = "width:100%;max-width:60em;background:#fff"
        image = f'<img alt="{alt}" style="{style}" src="data:image/svg+xml;base64,{picture}">'
        return image + "".join(f"<p>{escape(line)}</p>" for line in told)


def explain(
    problem: Any,
    *,
    compare: str | None = "ascending",
    policy: str | None = None,
    limit: int = SIBLING,
    report: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Explanation:
    """Where the nodes of one search went, beside a second search of the same puzzle.

    Args:
        problem: an instance or a `Model`.
        compare: the second search: an order (ascending, lcv, mcv, random, oracle: the same search without a guide), a
            policy (as it is), a guide's name or folder (the same search with it), or None.
        policy: of the first search; paper, unless you say otherwise.
        limit: nodes after which the measurement of a branch that was not entered is given up.
        report: called with (measured, all) branches while they are measured; a notebook shows it as a line.
        **options: fields of `Options` and `Guidance`, in place of the policy's.

    Returns:
        An `Explanation`: printed it is a table, in a notebook two trees.

    Raises:
        ValueError: an option is refused, or the search (strategy nogoods) has no nodes that are about a cell.

    Examples:
        >>> import dibs
        >>> dibs.explain(dibs.Sudoku.parse("4.....1..3......"))
        <paper: 2 nodes, ascending: 2 nodes>
    """
    if limit < 1:
        raise ValueError(f"limit = {limit}: it must be a whole number, 1 or more")
    from dibs.search.solver import checked_instance
    from dibs.solving import instance_of
    from dibs.study.explain import Explainer

    instance = checked_instance(instance_of(problem))
    wanted = searches(instance, policy, options, compare)
    if report is None:
        show = progress()

        def report(done: int, total: int) -> None:
            show("branches measured", done / total if total else None)

    explainer = Explainer(instance, limit, report=report)
    return Explanation(instance, tuple(explainer.explained(one) for one in wanted))


def searches(instance: Instance, policy: str | None, said: dict[str, Any], compare: str | None) -> list[ToExplain]:
    """The searches that are meant, all of their options decided; ValueError for what cannot be explained."""
    if said.get("max_solutions", 1) != 1:
        raise ValueError("explain shows the search for one solution: leave max_solutions out")
    if not isinstance(said.get("guide"), str | None):
        raise ValueError("guide: a name or a folder; `dibs.study.ledger.ledgers` takes guides of your own")
    from dibs.study.explain import ToExplain

    options, guidance = _first(policy, said, instance)
    wanted = [ToExplain(policy or "paper", options, guidance, policy is not None or "guide" in said)]
    return wanted if compare is None else [*wanted, _second(compare, options, guidance, instance)]


def _first(policy: str | None, said: dict[str, Any], instance: Instance) -> tuple[Options, Guidance]:
    """The records of the first search; order `oracle` is in the place of the paper's guide."""
    said = {"max_nodes": MOST} | said
    if policy is None and said.get("order") == "oracle" and "guide" not in said:
        found = Request("paper", {k: v for k, v in said.items() if k != "order"}).plan(instance.structure)
        return replace(found.options, order="oracle", trigger=said.get("trigger", "always")), Guidance()
    found = Request(policy or "paper", said).plan(instance.structure)
    return found.options, found.guidance


def _second(name: str, options: Options, guidance: Guidance, instance: Instance) -> ToExplain:
    """All else equal, unless it is a policy."""
    from dibs.study.explain import ToExplain

    if name in ORDERS:
        trigger = "always" if name == "oracle" else options.trigger
        plain = replace(without_guide(options), order=name, trigger=trigger)  # type: ignore[arg-type]
        return ToExplain(name, plain, Guidance())
    if name in POLICIES:
        other = Request(name).plan(instance.structure)
        limits = {limit: getattr(options, limit) for limit in ("max_nodes", "max_seconds", "seed")}
        return ToExplain(name, replace(other.options, **limits), other.guidance)
    if name in card.shipped() or Path(name).exists():
        card.find(name)
        order = "ascending" if options.order == "oracle" else options.order
        return ToExplain(Path(name).name, replace(options, order=order), replace(guidance, guide=name))
    known = [*ORDERS, *POLICIES, *card.shipped()]
    near = get_close_matches(name, known, 1, 0)[0]
    raise ValueError(f"compare = {name!r}: did you mean {near!r}? It is one of {', '.join(known)}, or a guide's folder")
