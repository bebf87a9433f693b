"""Which task a configuration names."""

from __future__ import annotations

from dibs.model.config import Config
from dibs.model.distil import DistilTask
from dibs.model.many_solutions import ManySolutions
from dibs.model.tasks import ManySolutionsTask, RelationalTask, Sources, Task, TransformerTask


def task_for(config: Config, sources: Sources) -> Task:
    if isinstance(sources, ManySolutions):
        return ManySolutionsTask(config, sources)
    if config.train.teacher:
        return DistilTask(config, sources)
    kind = RelationalTask if config.model.kind == "relational" else TransformerTask
    return kind(config, sources)
