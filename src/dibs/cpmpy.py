"""dibs as a solver of CPMpy: importing this module registers it.

    import cpmpy as cp
    import dibs.cpmpy
    model.solve(solver="dibs")

CPMpy's own transformations flatten a model and turn integers into Booleans; what is left are clauses and sums. A sum
whose coefficients are of one size is a group with bounds; others, and sums that hold under a condition, become clauses
by a decision diagram. dibs decides: objectives are refused with CPMpy's own error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

try:
    from cpmpy.exceptions import NotSupportedError
    from cpmpy.expressions.core import BoolVal, Comparison, Expression, Operator
    from cpmpy.expressions.utils import flatlist, is_int
    from cpmpy.expressions.variables import NegBoolView, _BoolVarImpl
    from cpmpy.solvers.solver_interface import ExitStatus, SolverInterface, SolverStatus
    from cpmpy.solvers.utils import SolverLookup
    from cpmpy.transformations.flatten_model import flatten_constraint
    from cpmpy.transformations.get_variables import get_variables
    from cpmpy.transformations.int2bool import (
        IntVarEncDirect,
        IntVarEncOrder,
        _decide_encoding,
        _encode_int_var,
        int2bool,
        replace_int_user_vars,
    )
    from cpmpy.transformations.linearize import (
        decompose_linear,
        linearize_constraint,
        linearize_reified_variables,
        only_positive_coefficients,
    )
    from cpmpy.transformations.negation import push_down_negation
    from cpmpy.transformations.normalize import simplify_boolean, toplevel_list
    from cpmpy.transformations.reification import only_bv_reifies, only_implies
    from cpmpy.transformations.safening import no_partial_functions
except ImportError as error:
    raise ImportError("dibs.cpmpy needs CPMpy: pip install 'dibs[cpmpy]'") from error

from dibs.problem.cnf import CNF
from dibs.problem.diagram import Block, TooLarge, at_most
from dibs.problem.linear import Unequal, counted
from dibs.questions import opened
from dibs.search.contract import Asks, Guide
from dibs.search.outcome import Outcome, Status
from dibs.solving import solve

LARGEST = 200_000  # nodes of a decision diagram for one sum

EXIT = {Status.SAT: ExitStatus.FEASIBLE, Status.UNSAT: ExitStatus.UNSATISFIABLE, Status.LIMIT: ExitStatus.UNKNOWN}


class CPM_dibs(SolverInterface):  # type: ignore[misc]
    """CPMpy's interface. `outcome` is what dibs said of the last call of `solve`."""

    supported_global_constraints = frozenset[str]()
    supported_reified_global_constraints = frozenset[str]()

    @staticmethod
    def supported() -> bool:
        return True

    @classmethod
    def version(cls) -> str:
        from dibs import __version__

        return __version__

    def __init__(self, cpm_model: Any = None, subsolver: str | None = None) -> None:
        if subsolver is not None:
            raise NotSupportedError(f"CPM_dibs: there is no subsolver {subsolver!r}; give engine=... to solve()")
        if cpm_model is not None and cpm_model.objective_ is not None:
            raise NotSupportedError("CPM_dibs: only satisfaction, no objective function")
        self.clauses: list[list[int]] = []
        self.groups: list[tuple[int, int, list[int]]] = []
        self.variables = 0
        self.outcome: Outcome | None = None
        self.ivarmap: dict[str, Any] = {}  # how integers are encoded
        self.encoding = "auto"
        self.user_vars: set[Any]
        self._hints: dict[int, bool] = {}  # values by signed variable
        self._block: dict[int, Block] = {}
        self._blocked = 0  # integers that are in `_block`
        super().__init__(name="dibs", cpm_model=cpm_model)

    @property
    def native_model(self) -> CNF:
        """All that was added so far."""
        return CNF(self.variables, self.clauses, self.groups)

    def solver_var(self, cpm_var: Any) -> Any:
        """The signed variable of a Boolean one; numbers as they are."""
        if isinstance(cpm_var, NegBoolView):
            return -self.solver_var(cpm_var._bv)
        if isinstance(cpm_var, _BoolVarImpl):
            if cpm_var.name not in self._varmap:
                self._varmap[cpm_var.name] = self._fresh()
            return self._varmap[cpm_var.name]
        if isinstance(cpm_var, BoolVal) or is_int(cpm_var):
            return cpm_var
        raise NotSupportedError(f"CPM_dibs: {cpm_var} is no Boolean variable")

    def _fresh(self) -> int:
        self.variables += 1
        return self.variables

    def transform(self, cpm_expr: Any) -> list[Expression]:
        """Down to clauses and sums over Booleans, by CPMpy's transformations alone."""
        cons = push_down_negation(no_partial_functions(toplevel_list(cpm_expr)))
        cons = decompose_linear(
            cons,
            supported=self.supported_global_constraints,
            supported_reified=self.supported_reified_global_constraints,
            csemap=self._csemap,
        )
        cons = flatten_constraint(simplify_boolean(cons), csemap=self._csemap)
        cons = linearize_reified_variables(cons, min_values=2, csemap=self._csemap, ivarmap=self.ivarmap)
        cons = only_implies(only_bv_reifies(cons, csemap=self._csemap), csemap=self._csemap)
        kept = frozenset({"sum", "wsum", "->", "and", "or"})
        cons = linearize_constraint(cons, supported=kept, csemap=self._csemap)
        cons = int2bool(cons, self.ivarmap, encoding=self.encoding, csemap=self._csemap)
        return list(only_positive_coefficients(cons))

    def add(self, cpm_expr: Any) -> CPM_dibs:
        """Transform a constraint, or a list of them, and post what comes of it."""
        get_variables(cpm_expr, collect=self.user_vars)
        for constraint in self.transform(cpm_expr):
            self._post(constraint)
        return self

    __add__ = add

    def _post(self, constraint: Any, condition: Sequence[int] = ()) -> None:
        """`condition`: clauses hold if one of these signed variables is true, or the constraint is."""
        if isinstance(constraint, _BoolVarImpl):
            self.clauses.append([*condition, self.solver_var(constraint)])
        elif isinstance(constraint, BoolVal):
            if not constraint.value():
                self.clauses.append([*condition])
        elif isinstance(constraint, Comparison):
            self._post_sum(constraint, condition)
        elif constraint.name == "or":
            self.clauses.append([*condition, *self.solver_vars(constraint.args)])
        elif constraint.name == "and":
            for part in constraint.args:
                self._post(part, condition)
        elif constraint.name == "->" and not condition:
            self._post(constraint.args[1], [-self.solver_var(constraint.args[0])])
        else:
            raise NotSupportedError(f"CPM_dibs: constraint {constraint} is not supported")

    def _post_sum(self, comparison: Any, condition: Sequence[int]) -> None:
        left, right = comparison.args
        if isinstance(left, _BoolVarImpl):
            terms = [(1, self.solver_var(left))]
        elif isinstance(left, Operator) and left.name == "sum":
            terms = [(1, z) for z in self.solver_vars(left.args)]
        elif isinstance(left, Operator) and left.name == "wsum":
            terms = list(zip(map(int, left.args[0]), self.solver_vars(left.args[1]), strict=True))
        else:
            raise NotSupportedError(f"CPM_dibs: {comparison} is no sum of Booleans")
        if comparison.name not in ("<=", ">=", "=="):
            raise NotSupportedError(f"CPM_dibs: {comparison} compares by {comparison.name}")
        least = int(right) if comparison.name != "<=" else None
        most = int(right) if comparison.name != ">=" else None
        try:
            found = counted(terms, least, most)
        except Unequal:
            found = None
        if found is not None and not found.possible:
            self.clauses.append([*condition])
        elif found is not None and not condition:
            self.groups.append((found.least, found.most, found.literals))
        else:
            if most is not None:
                self._diagram(terms, most, condition, comparison)
            if least is not None:
                self._diagram([(-c, z) for c, z in terms], -least, condition, comparison)

    def _diagram(self, terms: Iterable[tuple[int, int]], most: int, condition: Sequence[int], what: Expression) -> None:
        """Clauses for: the sum is at most `most`."""
        try:
            self.clauses += at_most(terms, most, self._blocks().get, self._fresh, condition, LARGEST)
        except TooLarge:
            raise NotSupportedError(f"CPM_dibs: {str(what)[:80]}: its coefficients are too different") from None

    def _blocks(self) -> dict[int, Block]:
        """By variable: the literals that encode the same integer."""
        for encoded in list(self.ivarmap.values())[self._blocked :]:
            chain = isinstance(encoded, IntVarEncOrder)
            literals = tuple(self.solver_vars(encoded.vars().flatten()))
            if (chain or isinstance(encoded, IntVarEncDirect)) and not any(abs(z) in self._block for z in literals):
                self._block |= {abs(z): Block(literals, chain) for z in literals}
        self._blocked = len(self.ivarmap)
        return self._block

    def solve(self, time_limit: float | None = None, **options: Any) -> bool:
        """`time_limit` in seconds; other keyword arguments are those of `dibs.solve` (policy, engine, guide, ...)."""
        options = self._prepared(time_limit, options)
        begin = perf_counter()
        self.outcome = solve(self.native_model, **options)
        self._told(EXIT[self.outcome.status], begin)
        found = self._solve_return(self.cpm_status)
        self._assign(self.outcome.solution if found else None)
        return bool(found)

    def solveAll(
        self,
        display: Any = None,
        time_limit: float | None = None,
        solution_limit: int | None = None,
        call_from_model: bool = False,
        **options: Any,
    ) -> int:
        """All solutions by one search, which differ in the user's variables; returns how many were found.

        `display`: expressions to print, or a function to call, at each; that is within `time_limit`, too. Other
        engines do it CPMpy's way.
        """
        if "engine" in options:
            return int(super().solveAll(display, time_limit, solution_limit, call_from_model, **options))
        options = self._prepared(time_limit, options)
        begin = perf_counter()
        over = [self.solver_var(variable) for variable in self.user_vars]
        stream = opened(self.native_model, solution_limit, over, options, reading=True)
        count = 0
        for solution in stream:
            self._assign(solution)
            self.print_display(display)
            count += 1
        self.outcome = stream.outcome
        assert self.outcome is not None
        cut = self.outcome.status is Status.LIMIT or count == solution_limit
        self._told(ExitStatus.OPTIMAL if count and not cut else EXIT[self.outcome.status], begin)
        if count and cut:
            self.cpm_status.exitstatus = ExitStatus.FEASIBLE
        elif not count:
            self._assign(None)
        return count

    def _prepared(self, time_limit: float | None, options: dict[str, Any]) -> dict[str, Any]:
        """Variables that no constraint has named become known; the options of dibs' search."""
        if time_limit is not None and time_limit <= 0:
            raise ValueError("Time limit must be positive")
        for variable in list(self.user_vars):
            self._encode(variable)
        self.user_vars = replace_int_user_vars(self.user_vars, self.ivarmap)
        options = dict(options)
        if time_limit is not None:
            options["max_seconds"] = time_limit
        if self._hints and "guide" not in options:
            options["guide"] = Hints(self._hints)
        if not options.keys() & {"engine", "policy", "strategy"}:
            options["strategy"] = "nogoods"  # chains of implications, of which there are many, are what it is good at
        return options

    def _told(self, status: ExitStatus, begin: float) -> None:
        self.cpm_status = SolverStatus(self.name)
        self.cpm_status.exitstatus = status
        self.cpm_status.solve_time = self.cpm_status.runtime = perf_counter() - begin  # its name before CPMpy 1.1

    def _assign(self, solution: Any) -> None:
        """The values of a solution; None: no variable has one."""
        true = frozenset(solution or ())
        for variable in self.user_vars:
            variable._value = bool(self.solver_var(variable) in true) if solution is not None else None
        for encoded in self.ivarmap.values():
            encoded._x._value = encoded.decode() if solution is not None else None

    def _encode(self, variable: Any) -> None:
        """Make a variable of the user known, an integer by Booleans, even if no constraint has named it."""
        if variable.is_bool():
            self.solver_var(variable)
            return
        if variable.name not in self.ivarmap:
            how = _decide_encoding(variable, None, encoding=self.encoding)
            for constraint in self.transform(_encode_int_var(self.ivarmap, variable, how)[1]):
                self._post(constraint)
        self.solver_vars(self.ivarmap[variable.name].vars().flatten())

    def solution_hint(self, cpm_vars: Any, vals: Any) -> None:
        """Values to try first."""
        variables, values = flatlist(cpm_vars), flatlist(vals)
        if len(variables) != len(values):
            raise ValueError("CPM_dibs: as many values as variables are needed for a hint")
        self._hints = {}
        for variable, value in zip(variables, values, strict=True):
            self._encode(variable)
            if variable.is_bool():
                self._hints[self.solver_var(variable)] = bool(value)
            else:
                literals = flatlist([self.ivarmap[variable.name].eq(int(value))])
                self._hints |= {self.solver_var(z): True for z in literals if isinstance(z, _BoolVarImpl)}


class Hints(Guide):
    """Values to try first, as a guide that is certain of them."""

    static = True

    def __init__(self, hints: dict[int, bool]) -> None:
        self.hints = hints

    def rank(self, asks: Asks) -> np.ndarray[Any, Any]:
        scores = np.full(asks.open.shape, np.log(0.5), np.float32)
        for variable, value in self.hints.items():
            first = 2 * (abs(variable) - 1)
            scores[:, [first, first + 1]] = (0, -np.inf) if value == (variable > 0) else (-np.inf, 0)
        return scores


def register() -> None:
    """Put dibs behind CPMpy's own solvers, once: `SolverLookup.base_solvers` is all there is of a registry."""
    listed = SolverLookup.base_solvers
    if "dibs" not in dict(listed()):
        SolverLookup.base_solvers = classmethod(lambda cls: [*listed(), ("dibs", CPM_dibs)])


register()
