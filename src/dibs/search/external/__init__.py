"""Other engines under the same guide: Glucose and CaDiCaL (python-sat), and CP-SAT (OR-Tools).

    import dibs.search.external
    outcome = dibs.search.external.solve(dibs.CNF.read("x.cnf"), "cadical195", guide=guide)

An engine is one small adapter file and one line of `registry.ENGINES`.
"""

from dibs.search.external.options import EngineName, EngineOptions
from dibs.search.external.registry import ENGINES
from dibs.search.external.run import solve

__all__ = ["ENGINES", "EngineName", "EngineOptions", "solve"]
