"""What will be done: what the user said, the policy and the problem become one plan, once, before the search.

A `Request` is what the user said, sparse. `Request.plan(structure)` decides the rest. Every field that was given is in
the plan, or is refused in one line that says why; none is ignored. Where a policy may choose, what was said narrows the
choice: a field that only the tree search knows makes it a tree search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Any

from dibs.problem.cover import exact_cover
from dibs.problem.structure import WIDEST, Structure
from dibs.search.external.registry import ENGINES, check_guide, find
from dibs.search.formulas import NODES, NODES_OF_COVERS, clausal, engine_after, random_like
from dibs.search.guidance import Guidance, suited_name
from dibs.search.options import ALIASES, LIMITS, NOGOOD_ORDERS, OF_GUIDES, OF_NOGOODS, OF_TREE, Options
from dibs.search.policies import FREE, POLICIES, shares, shortest_run
from dibs.search.slices import MOST

OPTIONS = tuple(f.name for f in fields(Options))
GUIDANCE = tuple(f.name for f in fields(Guidance))
OF_ENGINES = ("max_seconds", "guide", "threads", "runtime", "rounds", "network_only")  # what other engines take
HOW = tuple(name for name in OPTIONS if name not in LIMITS)  # fields that say how to search
WHEN = ("guide_after", "max_asks")  # of these, those about a guide that every search knows


@dataclass(frozen=True)
class Plan:
    """How instances of one structure will be searched: nothing is left to decide but the answer."""

    search: str  # "tree", "nogoods", or the name of an engine
    options: Options
    guidance: Guidance  # `guide` is a guide's name or folder, never `auto`; None: no guide that has a name
    guided: bool  # a guide is asked, by name or the user's own
    notes: tuple[str, ...] = ()  # what was decided, and why
    easy: int | None = None  # nodes of a plain search that goes first; the search above gets what that leaves
    first: str = "tree"  # which search that is: tree or nogoods

    @property
    def raced(self) -> bool:
        """A plain search goes first, and from `guide_after` nodes on a guided one beside it."""
        return self.search == "tree" and self.guided and self.options.guide_after is not None

    @property
    def plain(self) -> Options:
        """The same search as if there were no guide."""
        return without_guide(self.options)

    @property
    def name(self) -> str:
        """In a word or two, as `--json` has it."""
        guide = self.guidance.guide or ("own guide" if self.guided else None)
        return self.search if guide is None else f"{self.search} + {guide}"

    @classmethod
    def exactly(cls, options: Options, guidance: Guidance | None = None, guided: bool = False) -> Plan:
        """The plan of options that are all decided already, as experiments and studies have them.

        Args:
            options: of the search, all decided.
            guidance: how a trained guide is used.
            guided: whether a guide is asked.

        Returns:
            The plan.
        """
        search = "nogoods" if options.strategy == "nogoods" else "tree"
        return cls(search, options, guidance or Guidance(), guided)

    def describe(self) -> str:
        """In plain words, as `--plan` prints it.

        Returns:
            One line of text.
        """
        parts = [*_described(self), *self.notes]
        return "; ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Every field that the search uses.

        Returns:
            A dictionary that JSON can have.
        """
        unused = {"tree": OF_NOGOODS, "nogoods": OF_TREE}.get(self.search, (*HOW, "alpha", "steps"))
        options = {name: getattr(self.options, name) for name in OPTIONS if name not in unused}
        guidance = {
            name: getattr(self.guidance, name) for name in GUIDANCE if self.guidance.guide and name not in unused
        }
        first = {} if self.easy is None else {"easy": self.easy, "first": self.first}
        return {"search": self.search, **first, **options, **guidance, "notes": list(self.notes)}


@dataclass(frozen=True)
class Request:
    """What a user said: a policy's name, some fields of `Options` and `Guidance`, perhaps a guide of their own.

    Without a policy it is `auto`; but a user who says how to search, or brings a guide, gets just that. Raises
    ValueError, in one line, for whatever makes no sense for any problem.
    """

    policy: str | None = None
    explicit: Mapping[str, Any] = field(default_factory=dict)
    own_guide: bool = False
    engine: str = "own"  # or the name of an engine that is not dibs' own

    def __post_init__(self) -> None:
        if self.policy is not None and self.policy not in POLICIES:
            raise ValueError(f"policy = {self.policy!r}: choose one of {', '.join(POLICIES)}")
        object.__setattr__(self, "explicit", _named(self.explicit))
        exact = self.own_guide or any(name in self.explicit for name in (*HOW, "guide"))
        if self.engine != "own":
            self._check_engine()
        elif self.policy is None and not exact:
            object.__setattr__(self, "policy", "auto")
        self._check()

    def _check_engine(self) -> None:
        """Refuse what another engine cannot do."""
        if self.policy is not None:
            raise ValueError(f"policy = {self.policy!r} is for dibs' own search, not for engine {self.engine}")
        for name, value in self.explicit.items():
            if name in OF_ENGINES or (name, value) == ("max_solutions", 1):
                continue
            said = "all solutions: that" if (name, value) == ("max_solutions", MOST) else f"{name} = {value!r}"
            raise ValueError(f"{said} is for dibs' own search, not for engine {self.engine}")
        find(self.engine)
        if self.own_guide or self.explicit.get("guide") is not None:
            check_guide(self.engine)

    def _check(self) -> None:
        """Refuse what makes no sense whatever the problem is."""
        explicit, options, guidance = self.explicit, self.options, self.guidance
        guided = self.own_guide or guidance.guide is not None
        if self.own_guide and explicit.get("guide") is not None:
            raise ValueError("guide: give an object or a name, not both")
        if guided and options.order == "oracle":
            raise ValueError("order = 'oracle' is a guide itself: give one or the other")
        if not guided and options.order != "oracle":
            for name in (*OF_GUIDES, *(["select"] if explicit.get("select") == "confident" else [])):
                if explicit.get(name) is not None:
                    raise ValueError(f"{name} = {explicit[name]!r} is about a guide: name one with guide, or a policy")
        strategy = explicit.get("strategy")
        if strategy == "nogoods" or "root" in explicit:
            self._check_nogoods("strategy = 'nogoods'" if strategy == "nogoods" else "root")
        free = self.policy in FREE and strategy is None
        if options.strategy == "dfs" and "restart_base" in explicit and not free and "root" not in explicit:
            raise ValueError(f"restart_base = {explicit['restart_base']!r} needs strategy restarts or nogoods, not dfs")
        if options.max_solutions > 1:
            for name, value in explicit.items():
                begun_again = name == "strategy" and value == "restarts"
                beside = name == "guide_after" and strategy != "nogoods" and "root" not in explicit
                if begun_again or beside:
                    raise ValueError(f"{name} = {value!r} is for one solution: it needs max_solutions = 1")
        for name in ("alpha", "steps"):
            if options.guide_selects and name in explicit and explicit[name] != getattr(Guidance(), name):
                raise ValueError(
                    f"{name} = {explicit[name]!r} is about the cell that MRV takes: it needs select = 'mrv'"
                )

    def _check_nogoods(self, what: str) -> None:
        explicit = self.explicit
        if what == "root" and explicit.get("strategy"):
            raise ValueError(f"root = {explicit['root']!r} needs strategy nogoods, not {explicit['strategy']}")
        for name in OF_TREE:
            if name in explicit:
                raise ValueError(f"{name} = {explicit[name]!r} is for the tree search, and {what} is not")
        if explicit.get("level") == "eliminate":
            raise ValueError(f"{what} needs level naked or hidden: eliminate forces nothing")
        if explicit.get("order", "ascending") not in NOGOOD_ORDERS:
            raise ValueError(f"{what} needs order {', '.join(NOGOOD_ORDERS)}, not {explicit['order']}")

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The policy's fields, with those that were said in their place."""
        policy = POLICIES[self.policy].fields if self.policy else {}
        fields = {**policy, **self.explicit}
        if self.own_guide:
            fields.pop("guide", None)
        return fields

    @cached_property
    def options(self) -> Options:
        """As they are before the problem is known."""
        return Options(**{name: value for name, value in self.fields.items() if name in OPTIONS})

    @cached_property
    def guidance(self) -> Guidance:
        return Guidance(**{name: value for name, value in self.fields.items() if name in GUIDANCE})

    def plan(self, structure: Structure) -> Plan:
        """For instances of one structure."""
        if self.policy is None and structure.family == "problem" and self.guidance.guide and not self._how:
            return replace(self, policy="auto").plan(structure)  # a guide by name says nothing about how to search
        options, guidance, notes = self.options, self.guidance, []
        guided = self.own_guide or options.order == "oracle"
        if guidance.guide is not None:
            name, why = suited_name(guidance.guide, structure)
            guided = name is not None
            guidance = replace(guidance, guide=name) if guided else Guidance()
            if why:
                if self._about_a_guide:
                    raise ValueError(f"{self._about_a_guide[0]} is about a guide: {why}")
                notes.append(why)
        search, easy = "tree", None
        if self.engine != "own":
            search = self.engine
        elif self._nogoods(structure):
            search = "nogoods"
            options = self._nogood_options(options, structure)
            if "strategy" not in self.explicit and "root" not in self.explicit:
                if clausal(structure, options.max_solutions):
                    return self._formula(structure, Plan(search, options, guidance, guided, tuple(notes)))
                easy, why = self._why_nogoods(structure)
                notes.append(why)
        else:
            if guided and options.max_solutions > 1 and options.guide_after is not None:
                options = replace(options, guide_after=None)  # from the first node on, for whoever wants a guide
                if not self._about_a_guide:
                    notes.append("without the guide: a second search would find the same solutions again")
                    guided, guidance = False, Guidance()
            options = self._tree_options(options, guided)
        return Plan(search, options, guidance, guided, tuple(notes), easy)

    def _formula(self, structure: Structure, plan: Plan) -> Plan:
        """The nogood search, and for what it leaves CaDiCaL, under the guide's phases where it knows such formulas."""
        if plan.guided and not self._about_a_guide and not random_like(structure):
            unlike = "without the guide: this is not random 3-SAT, all that it has learned from"
            plan = replace(plan, guided=False, guidance=Guidance(), notes=(*plan.notes, unlike))
        engine, why = engine_after(self.explicit, (*OF_ENGINES, "seed", "max_solutions"))
        plan = replace(plan, notes=(*plan.notes, why))
        if engine is None:
            return plan
        nodes = NODES
        if exact_cover(structure):
            nodes, cover = NODES_OF_COVERS, "the formula is an exact cover, and nogoods search it as one"
            plan = replace(plan, notes=(*plan.notes, cover))
        return replace(plan, search=engine, first="nogoods", easy=nodes)

    @property
    def _how(self) -> bool:
        """Whether anything says how to search, or that another engine does. When a guide is asked is not that."""
        return self.engine != "own" or self.own_guide or any(name in self.explicit for name in HOW if name not in WHEN)

    def _why_nogoods(self, structure: Structure) -> tuple[int | None, str]:
        """Why a policy takes the nogood search, and for how many nodes the tree search may try before."""
        if structure.bounded:
            return None, "nogoods because there are groups with bounds"
        if structure.family != "problem":
            return self._easy(structure), f"nogoods because the grid has {structure.decisions} cells"
        if not structure.disjoint:
            return None, f"nogoods because groups to decide overlap, or have more than {WIDEST} literals"
        easy = self._easy(structure)
        return easy, "nogoods for a problem of your own" + (" that is not easy" if easy else "")

    def _easy(self, structure: Structure) -> int | None:
        """Nodes of the tree search before the nogood search. Only `auto` does not say what is done from the first."""
        share = shares(structure).tree
        return int(share) if self.policy == "auto" and 0 < share < inf else None

    def _nogoods(self, structure: Structure) -> bool:
        """Whether it was said, or the policy may choose and nothing that was said is against it."""
        explicit = self.explicit
        if explicit.get("strategy") == "nogoods" or "root" in explicit:
            return True
        share = shares(structure).tree
        suits = structure.family == "problem" or share == 0 or (self.policy == "auto" and share < inf)
        suits |= structure.family == "cnf" and self.policy == "auto" and explicit.get("max_solutions", 1) == 1
        free = self.policy in FREE and not any(name in explicit for name in ("strategy", *OF_TREE))
        orders = explicit.get("order", "ascending") in NOGOOD_ORDERS
        if structure.bounded:
            self._check_bounded()
            return True
        return suits and free and orders and explicit.get("level") != "eliminate"

    def _check_bounded(self) -> None:
        """Groups with bounds are for the nogood search, whatever the policy: refuse what that does not do."""
        explicit, what = self.explicit, "a problem that has groups with bounds"
        if explicit.get("strategy") is not None:
            raise ValueError(f"strategy = {explicit['strategy']!r}: {what} needs strategy nogoods")
        self._check_nogoods(what)

    def _nogood_options(self, options: Options, structure: Structure) -> Options:
        usual = Options()
        explicit = self.explicit
        after = options.guide_after
        if after is not None and "guide_after" not in explicit:
            after = min(after, shares(structure).guide_after)
        return replace(
            options,
            strategy="nogoods",
            root=explicit.get("root", "singles" if "level" in explicit or structure.family == "cnf" else "locked"),
            restart_base=explicit.get("restart_base", shortest_run(structure, options.max_solutions)),
            guide_after=after,
            **{name: getattr(usual, name) for name in OF_TREE if name in OPTIONS},
        )

    @property
    def _about_a_guide(self) -> tuple[str, ...]:
        """What was said about a guide."""
        named = [name for name in (*GUIDANCE, *OF_GUIDES) if self.explicit.get(name) is not None]
        if self.explicit.get("select") == "confident":
            named.append("select")
        return (*["own guide"] * self.own_guide, *(f"{name} = {self.explicit[name]!r}" for name in named))

    def _tree_options(self, options: Options, guided: bool) -> Options:
        if not guided:
            options = without_guide(options, keep=self.explicit)
        if options.max_solutions > 1 and options.strategy != "dfs":
            options = replace(options, strategy="dfs")
        if options.strategy == "dfs" and "restart_base" in self.explicit:
            base = self.explicit["restart_base"]
            raise ValueError(f"restart_base = {base!r} needs strategy restarts or nogoods, not dfs")
        return options


def without_guide(options: Options, keep: Mapping[str, Any] = MappingProxyType({})) -> Options:
    """The same search as if there were no guide; `keep`: fields that were said stay."""
    plain: dict[str, Any] = {"reuse": None, "guide_after": None, "max_asks": None, "trigger": "always"}
    if options.select == "confident":
        plain["select"] = "mrv"
    if options.strategy == "restarts":
        plain["strategy"] = "dfs"
    return replace(options, **{name: value for name, value in plain.items() if name not in keep})


def _named(explicit: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, by the fields' own names; ValueError names the nearest field where there is none."""
    found: dict[str, Any] = {}
    for name, value in explicit.items():
        full = ALIASES.get(name, name)
        if full not in OPTIONS and full not in GUIDANCE:
            known = (*OPTIONS, *GUIDANCE, *ALIASES, "policy", "guide", "engine")
            near = get_close_matches(name, known, 1) or get_close_matches(f"max_{name}", known, 1, 0.5)
            near = ["max_seconds"] if name in ("timeout", "time_limit", "time") else near
            hint = f": did you mean {near[0]!r}?" if near else f": there are {', '.join(OPTIONS)}"
            raise ValueError(f"there is no option {name!r}{hint}")
        if full in found:
            short = next(short for short, long in ALIASES.items() if long == full)
            raise ValueError(f"{short} and {full} are the same option: give one of them")
        found[full] = value
    return found


def _described(plan: Plan) -> list[str]:
    o = plan.options
    limits = [
        f"at most {value:,g} {what}"
        for value, what in ((o.max_nodes, "nodes"), (o.max_seconds, "seconds"), (o.max_asks, "asks"))
        if value is not None
    ]
    if o.max_solutions > 1:
        limits.append("all solutions" if o.max_solutions >= MOST else f"up to {o.max_solutions:,} solutions")
    told, usual = plan.as_dict(), {**vars(Guidance()), "seed": Options().seed}
    settings = (name for name in ("seed", *GUIDANCE[1:]) if name in told and told[name] != usual[name])
    limits += [f"{name} {told[name]}" for name in settings]
    guide = plan.guidance.guide or ("the given guide" if plan.guided else None)
    if o.order == "oracle":
        guide = "an oracle"
    kind = {"tree": "plain tree", "nogoods": "nogood"}[plan.first]
    first = f"{kind} search for {plan.easy:,} nodes, then " if plan.easy is not None else ""
    if plan.search not in ("tree", "nogoods"):
        takes = ENGINES[plan.search].takes
        asked = f"guide {guide}, asked once for {takes}" if guide else "no guide"
        return [f"{first}engine {plan.search}", asked, *limits]
    if plan.search == "nogoods":
        root = "singles and locked sets" if o.root == "locked" else "singles"
        when = f"asked about the root after {o.guide_after:,} nodes" if o.guide_after else "asked about the root"
        return [
            f"{first}nogood search on what {root} leave open at the root, level {o.level}",
            f"values {o.order}, runs of {o.restart_base:,} failures and more",
            f"guide {guide}, {when}, then on dives" if guide else "no guide",
            *limits,
        ]
    runs = {"dfs": "depth first", "restarts": f"runs of {o.restart_base:,} nodes and more"}
    where = {"always": "at any node", "binary": "at two values", "ternary": "at three values or more"}
    mrv = f"MRV, ties by {o.tie}"
    select = {"mrv": mrv, "first": "the first variable", "confident": "branching where the guide is sure"}
    asked = f"guide {guide}, asked {where[o.trigger]}" if guide else "no guide"
    if guide and o.reuse is not None:
        asked += f", a ranking serves while it is {o.reuse:g} sure"
    how = [f"{select[o.select]}, {runs[o.strategy]}", asked, *limits]
    if plan.raced:
        how[0] = f"plain ({mrv}, depth first); from {o.guide_after:,} nodes on a guided one beside it: {how[0]}"
    return [f"tree search, level {o.level}, values {o.order}", *how]
