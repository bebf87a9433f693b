"""Which task a configuration names."""

from __future__ import annotations

from dibs.guide.network import Network
from dibs.model.config import Config
from dibs.model.distil import DistilTask
from dibs.model.many_solutions import ManySolutions
from dibs.model.own_network import OwnNetworkTask
from dibs.model.tasks import ManySolutionsTask, RelationalTask, Sources, Task, TransformerTask
from dibs.problem import InputError


def task_for(config: Config, sources: Sources, network: type[Network] | None = None) -> Task:
    """`network`: the user's own, in place of ours."""
    if config.model.probes and (isinstance(sources, ManySolutions) or config.model.kind != "relational"):
        raise InputError("[model] probes = true: only a relational network for Sudokus with one solution takes it")
    if isinstance(sources, ManySolutions):
        return OwnNetworkTask(config, sources, network) if network else ManySolutionsTask(config, sources)
    if config.train.teacher:
        return DistilTask(config, sources)
    kind = RelationalTask if config.model.kind == "relational" else TransformerTask
    return kind(config, sources)
