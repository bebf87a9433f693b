"""Other engines under the same guide: Glucose and CaDiCaL (python-sat), Kissat, and CP-SAT (OR-Tools).

    import dibs.engines
    outcome = dibs.engines.solve(dibs.CNF.read("x.cnf"), "cadical195", guide=guide)

An engine is one small adapter file and one line of `registry.ENGINES`.
"""

from dibs.engines.options import EngineName, EngineOptions
from dibs.engines.registry import ENGINES
from dibs.engines.run import solve

__all__ = ["ENGINES", "EngineName", "EngineOptions", "solve"]
