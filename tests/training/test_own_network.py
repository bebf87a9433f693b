"""A network of the user's own in place of ours: trained, judged, written and read like ours."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from test_features import rota, wished
from torch import Tensor, nn

import dibs
from dibs.guide.card import CARD, verify
from dibs.guide.denoiser import Denoiser
from dibs.guide.graph import own_features
from dibs.guide.network import Batch, Network, Sizes
from dibs.model.config import Config
from dibs.model.export import load_module
from dibs.model.many_solutions import ManySolutions
from dibs.model.own_network import OwnNetworkTask
from dibs.model.own_states import states_of
from dibs.problem import InputError
from dibs.search.root import roots
from dibs.training import train
from dibs.training.source import collect

CPU = torch.device("cpu")


class Tiny(Network):
    """One round of messages."""

    rate = 0.02

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.enter = nn.Linear(sizes.features, 16)
        self.kinds = nn.Embedding(sizes.kinds, 16)
        self.about = nn.Linear(sizes.group_features, 16) if sizes.group_features else None
        self.score = nn.Linear(32, 1)

    def forward(self, batch: Batch) -> Tensor:
        h = self.enter(batch.features).relu()
        groups = batch.to_groups(h) + self.kinds(batch.kind)
        if self.about is not None:
            groups = groups + self.about(batch.group_features)
        found: Tensor = self.score(torch.cat([h, batch.to_literals(groups.relu())], 1)).squeeze(1)
        return found


class Other(Tiny):
    """Of another shape."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.score = nn.Linear(32, 2)


class Misshapen(Tiny):
    def forward(self, batch: Batch) -> Tensor:
        return super().forward(batch)[:, None]


class NotANetwork(nn.Module):
    pass


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    train(rota, 0.05, folder, instances=16, steps=12, network=Tiny)
    return folder


def test_it_is_a_guide_like_any_other(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = verify(run / "guide")
    assert (card.kind, card.network) == ("own", f"{__name__}:Tiny")
    assert sorted(path.name for path in (run / "guide").iterdir()) == [CARD, "model.safetensors"]
    verdict = json.loads((run / "verdict.json").read_text())
    assert verdict["verdict"].startswith(("Use this guide", "Do not use this guide"))
    problem = rota(500).problem()
    for guide in (str(run), dibs.load_guide(run / "guide")):
        found = dibs.solve(problem, guide=guide)
        assert problem.violation(found.solution) is None
    from dibs.cli import main

    assert main(["model", "info", str(run / "guide")]) == 0
    assert f"{__name__}:Tiny, run by torch" in capsys.readouterr().out


def test_what_is_read_says_what_was_trained(run: Path) -> None:
    module = load_module(run / "guide")
    assert isinstance(module, Tiny)
    problem = rota(501).problem()
    root = roots([problem])
    said = Denoiser.load(run).log_probabilities(problem.structure, root.open, root.true)[0]
    for choice in np.arange(24).reshape(8, 3):
        assert np.exp(said[choice]).sum() == pytest.approx(1, abs=1e-5)
    both = np.concatenate([root.open, root.open])
    twice = Denoiser.load(run).log_probabilities(problem.structure, both, np.zeros_like(both))
    np.testing.assert_allclose(twice[1], said, atol=1e-6)


def test_interrupted_and_resumed_it_is_the_same(run: Path, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def stop(now: Any) -> None:
        if now.phase == "learn" and now.share and now.share > 0.4:
            raise Enough

    folder = tmp_path / "whole"
    with pytest.raises(Enough):
        train(rota, 0.05, folder, instances=16, steps=12, network=Tiny, report=stop)
    with pytest.raises(InputError, match=f"of the network {__name__}:Tiny: give --network {__name__}:Tiny, or"):
        train(rota, 0.05, folder, instances=16, steps=12, resume=True)
    train(rota, 0.05, folder, instances=16, steps=12, network=f"{__name__}:Tiny", resume=True)
    again, whole = (load_file(one / "guide" / "model.safetensors") for one in (folder, run))
    assert all(np.array_equal(again[name], whole[name]) for name in whole)


@pytest.mark.parametrize("told", ["literals", "groups"])
def test_it_learns(told: str) -> None:
    given = collect(lambda seed: rota(seed, told), 32)
    own = own_features(one.structure for one in given.instances)
    rng = np.random.default_rng(5)
    states = []
    for instance in given.instances:
        states += list(states_of(instance, wished(instance)[None], given.kinds, "hidden", rng, own))
    many = ManySolutions("problem", states, len(states) // 4, given.kinds, True, features=own)
    task = OwnNetworkTask(Config.of("tiny", {"train": {"batch": 16}}, "test"), many, Tiny)
    torch.manual_seed(0)
    module = task.module()
    held = states[: len(states) // 4]

    def loss_on_held() -> float:
        [found] = task.losses(module, held, CPU, rng, compiled=False)
        return float(found.detach())

    before = loss_on_held()
    optimiser = torch.optim.AdamW(module.parameters(), lr=Tiny.rate)
    for batch in [one for _ in range(6) for one in task.batches(rng)]:
        for loss in task.losses(module, batch, CPU, rng, compiled=False):
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    assert task.validation()(module)["p_s"] > 0.95
    assert loss_on_held() < before / 4


def test_what_is_no_network_is_refused_in_a_line(run: Path, tmp_path: Path) -> None:
    class Hidden(Tiny):
        pass

    for network, says in (
        (Hidden, "cannot be found again"),
        (NotANetwork, "give a subclass of dibs.guide.network.Network"),
        (f"{__name__}:NotANetwork", "is no subclass of dibs.guide.network.Network"),
        (f"{__name__}:Nowhere", "has no 'Nowhere'"),
        ("nowhere_at_all:Net", "cannot be imported"),
        ("Net", "write module:class"),
    ):
        with pytest.raises(InputError, match=says):
            train(rota, 0.05, tmp_path / "none", instances=8, steps=2, network=network)  # type: ignore[arg-type]
    for more in ({"segments": 2}, {"start": "relational-deep"}):
        with pytest.raises(ValueError, match="is for our network: one of your own is trained"):
            train(rota, 0.05, tmp_path / "none", instances=8, steps=2, network=Tiny, **more)
    with pytest.raises(ValueError, match=r"the network returned torch.float32 \[\d+, 1\]; asked were logits \[\d+\]"):
        train(rota, 0.05, tmp_path / "misshapen", instances=8, steps=2, network=Misshapen)
    card = json.loads((run / "guide" / CARD).read_text())
    for name, says in (
        (f"{__name__}:Other", "which may have changed"),
        ("os:system", "is no subclass"),
        ("../x:y", "write module:class"),
        ("", "'network' must be module:Class"),
        ("__main__:Net", "is to be put into a module"),
    ):
        folder = tmp_path / "changed"
        shutil.copytree(run / "guide", folder, dirs_exist_ok=True)
        (folder / CARD).write_text(json.dumps(card | {"network": name}))
        with pytest.raises(InputError, match=says) as error:
            dibs.load_guide(folder)
        assert "\n" not in str(error.value)
