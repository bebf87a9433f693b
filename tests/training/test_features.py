"""Numbers of the user's own, of literals and of groups: from a model through files and states to a network."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dibs
from dibs.guide.card import CARD, verify
from dibs.guide.denoiser import Denoiser
from dibs.guide.features import OwnFeatures
from dibs.guide.graph import graph_of, network_groups, own_features
from dibs.guide.network import Batch
from dibs.model import backward, pool
from dibs.model.config import Config
from dibs.model.export import export, load_module
from dibs.model.labelled import Labelled, OwnState
from dibs.model.many_solutions import ManySolutions
from dibs.model.own_states import known_of, states_of
from dibs.model.relational import Relational, cell_log_probabilities
from dibs.model.tasks import ManySolutionsTask
from dibs.problem import InputError
from dibs.problem.limits import DEFAULT
from dibs.problem.own import Bounds
from dibs.problem.stored import from_json, to_json
from dibs.search.root import roots
from dibs.training import export_states, train
from dibs.training.source import collect

CPU = torch.device("cpu")
SHIFTS = ("early", "late", "night")


def rota(seed: int, told: str | None = "literals") -> dibs.Model:
    """Everybody has a shift, any will do; only numbers say which was wished for: those of literals or of groups."""
    rng = np.random.default_rng((seed, 9))
    m = dibs.Model()
    for person in range(8):
        shift = m.choice(person, SHIFTS)
        wish = int(rng.integers(3))
        for i, one in enumerate(SHIFTS):
            if told == "literals":
                m.feature(shift == one, wish=1000 * (i == wish), noise=float(rng.normal()))
            own = {"wish": -0.01 * (wish != (i + 2) % 3)} if told == "groups" else None
            m.at_most(1, [shift == one, shift == SHIFTS[(i + 1) % 3]], role="pair", features=own)
    return m


def weighed(seed: int) -> dibs.Model:
    """Bounds, negations, literals by themselves, and numbers of anything."""
    rng = np.random.default_rng((seed, 4))
    m = dibs.Model()
    person = [m.boolean(f"person {i}") for i in range(12)]
    for one in person[:9]:
        m.feature(one, age=float(rng.uniform(20, 60)), skill=float(rng.normal()))
    room = m.choice("room", "abc")
    m.feature(room == "b", skill=-3)
    for _ in range(6):
        some = rng.choice(12, 5, replace=False)
        m.between(1, 3, [person[i] for i in some], role="committee", features={"weight": float(rng.normal())})
    for _ in range(5):
        a, b, c = rng.choice(12, 3, replace=False)
        m.at_least(1, [person[a], ~person[b], ~person[c]], role="quarrel", features={"weight": 2, "year": 1990})
    return m


def test_they_go_with_the_problem_and_its_file(tmp_path: Path) -> None:
    m = weighed(3)
    m.save(tmp_path / "one.json")
    wanted, found = m.problem().structure.features, dibs.read_problem(tmp_path / "one.json").structure.features
    assert sorted(wanted.literals) == ["age", "skill"]
    assert sorted(wanted.groups) == ["weight", "year"]
    for one, other in zip(wanted, found, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
    roles = m.problem().structure.roles
    assert {role for role, year in zip(roles, wanted.groups["year"], strict=True) if year} == {"quarrel"}
    plain = json.loads(to_json(dibs.Problem(2, exactly_one=[[0, 1]])))
    assert "features" not in plain, "files of others are as they were"


numbers = st.floats(-1e6, 1e6, allow_nan=False, width=32)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.integers(0, 4), st.dictionaries(st.sampled_from("xyz"), numbers, max_size=3)),
    st.lists(st.dictionaries(st.sampled_from("uv"), numbers, max_size=2), max_size=4),
)
def test_there_and_back(literals: dict[int, dict[str, float]], groups: list[dict[str, float]]) -> None:
    problem = dibs.Problem(
        5,
        groups=[Bounds(1, 2, [0, 1, dibs.Not(2)], "pair", features=own) for own in groups],
        features=literals,
        given=[4],
    )
    again = from_json(to_json(problem), "a file", DEFAULT)
    assert to_json(again) == to_json(problem)
    for literal, own in literals.items():
        for name, number in own.items():
            assert again.structure.features.literals[name][literal] == np.float32(number)
    laid = again.structure.features.groups
    for name in laid:
        assert sorted(laid[name][laid[name] != 0]) == sorted(
            np.float32(own[name]) for own in groups if own.get(name, 0) and np.float32(own[name])
        )


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('[1, {"x": "3"}]', r"features\[0\]: the feature x is '3', which is no number within 1e.30"),
        ('[1, {"x": 1e60}]', "no number within 1e.30"),
        ('[9, {"x": 1}]', "out of range 1..2"),
        ('[-1, {"x": 1}]', "a negation has no features"),
        ('[1, {"": 1}]', "cannot be the name of a feature"),
        ("[1, 3]", r"write \[literal, "),
        ('[1, {"x": 1}], [1, {"y": 1}]', "is there twice"),
    ],
)
def test_what_is_none_is_refused_with_its_place(row: str, says: str) -> None:
    text = '{"dibs": "problem", "version": 1, "literals": 2,\n"features": [\n' + row + "\n]}"
    with pytest.raises(InputError, match=says) as error:
        from_json(text, "a file", DEFAULT)
    assert error.value.line == 3


def test_a_model_refuses_them_where_they_are_said() -> None:
    m = dibs.Model()
    one, two = m.boolean("one"), m.choice("two", "ab")
    with pytest.raises(ValueError, match="'one': the feature cost is nan"):
        m.feature(one, cost=float("nan"))
    with pytest.raises(ValueError, match="~'one' is a negation"):
        m.feature(~one, cost=1)
    with pytest.raises(TypeError, match="'two' is a choice"):
        m.feature(two, cost=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="table: features are numbers by name"):
        m.at_most(1, [one, two == "a"], role="table", features=3)  # type: ignore[arg-type]


def test_no_search_looks_at_them() -> None:
    for seed in range(10):
        with_, without = (dibs.solve(rota(seed, told).problem(), seed=3) for told in ("literals", None))
        assert (with_.status, with_.nodes, with_.solution) == (without.status, without.nodes, without.solution)


def _module(own: OwnFeatures, kinds: tuple[str, ...], width: int = 16) -> Relational:
    torch.manual_seed(1)
    module = Relational(width, 6, 0, 0.0, len(kinds), 1, *map(len, own))
    with torch.no_grad():
        for value in module.parameters():
            value.add_(0.1 * torch.randn_like(value))
    return module


def _guide(family: Any, folder: Path) -> Path:
    """Random weights: what has been learned does not matter here."""
    given_ = collect(family, 6)
    own = own_features(one.structure for one in given_.instances)
    export(
        _module(own, given_.kinds),
        folder / "guide",
        data="",
        trained={},
        family="problem",
        kinds=given_.kinds,
        features=own,
    )
    return folder / "guide"


def _said(denoiser: Denoiser, problem: dibs.Problem) -> Any:
    root = roots([problem])
    return denoiser.log_probabilities(problem.structure, root.open, root.true)[0]


@pytest.mark.parametrize("family", [rota, weighed])
def test_compiled_code_onnx_and_torch_say_the_same(family: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    guide = _guide(family, tmp_path)
    module, card = load_module(guide), verify(guide)
    both = [Denoiser.load(guide), Denoiser.load(guide, runtime="onnx")]
    for seed in range(4):
        problem = family(seed).problem()
        root = roots([problem])
        open_ = root.open[0]
        said = [_said(one, problem) for one in both]
        assert np.allclose(said[0][open_], said[1][open_], atol=1e-4)
        groups = network_groups(problem.structure, card.kinds, card.features)
        x = Batch(graph_of(groups, root.open, root.true, len(card.kinds), 4))
        with torch.no_grad():
            wanted = cell_log_probabilities(module(x).logits[-1], x).numpy()
        assert np.allclose(said[0][open_], wanted, atol=1e-4)


def test_the_compiled_gradients_are_those_of_torch() -> None:
    given_ = collect(weighed, 3)
    own = own_features(one.structure for one in given_.instances)
    rng = np.random.default_rng(0)
    states: list[Labelled] = []
    for instance in given_.instances:
        states += states_of(instance, known_of(instance, 4, 1).solutions, given_.kinds, "hidden", rng, own)
    config = Config.of("tiny", {"model": {"width": 16, "rounds": 4}, "train": {"batch": 4}}, "test")
    task = ManySolutionsTask(config, ManySolutions("problem", states, 0, given_.kinds, True, features=own))
    torch.manual_seed(2)
    module, heads, rows = task.module(), (2, 4), np.arange(4)
    found = []
    for compiled in (False, True):
        module.zero_grad()
        some = task.pool(states[:4])
        loss = backward.loss(module, some, rows, heads)[0] if compiled else pool.loss(module, some, rows, heads, CPU)[0]
        loss.backward()  # type: ignore[no-untyped-call]
        found.append((float(loss.detach()), {name: value.grad for name, value in module.named_parameters()}))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-5)
    for name, grad in found[0][1].items():
        other = found[1][1][name]
        if grad is not None:
            assert other is not None
            np.testing.assert_allclose(other, grad, rtol=1e-4, atol=1e-5, err_msg=name)
    assert any(grad is not None and grad.abs().max() > 1e-4 for name, grad in found[0][1].items() if "about" in name)


def test_names_and_the_order_of_groups_do_not_matter(tmp_path: Path) -> None:
    denoiser = Denoiser.load(_guide(rota, tmp_path))
    for seed in range(4):
        problem = rota(seed).problem()
        rng = np.random.default_rng(seed)
        number = rng.permutation(problem.literals)
        order = rng.permutation(len(problem.groups))
        groups = [problem.groups[i]._replace(literals=number[problem.groups[i].literals].tolist()) for i in order]
        own = {int(number[literal]): numbers for literal, numbers in problem.features.items()}
        other = dibs.Problem(problem.literals, groups=groups, features=own)
        one, two = _said(denoiser, problem), _said(denoiser, other)[number]
        there = np.isfinite(one)
        assert there.any()
        assert np.array_equal(there, np.isfinite(two))
        assert np.abs(one[there] - two[there]).max() <= 1e-5
        blind = dibs.Problem(problem.literals, groups=groups)
        assert np.abs(one[there] - _said(denoiser, blind)[number][there]).max() > 1e-3, "they are looked at"


def test_what_a_problem_does_not_have_is_0_and_what_a_guide_does_not_take_is_left(tmp_path: Path) -> None:
    denoiser = Denoiser.load(_guide(rota, tmp_path))
    bare = rota(1, told=None).problem()
    zeros = dibs.Problem(24, groups=bare.groups, features={i: {"wish": 0, "noise": 0} for i in range(24)})
    more = dibs.Problem(24, groups=bare.groups, features={i: {"wish": 0, "height": i} for i in range(24)})
    wanted = _said(denoiser, bare)
    assert np.array_equal(wanted, _said(denoiser, zeros))
    assert np.array_equal(wanted, _said(denoiser, more))


def test_the_card_says_which_it_takes(tmp_path: Path) -> None:
    guide = _guide(weighed, tmp_path)
    card = json.loads((guide / CARD).read_text())
    assert list(card["features"]["literals"]) == ["age", "skill"]
    assert 20 < card["features"]["literals"]["age"] <= 60, "the largest number that was seen"
    assert card["features"]["groups"] == {"weight": pytest.approx(2, abs=1), "year": 1990}
    wrong: Any
    for wrong in ({}, {"literals": {"age": 1}}, [], {"literals": {"age": 0, "skill": 1}, "groups": {"a": 1, "b": 1}}):
        (guide / CARD).write_text(json.dumps(card | {"features": wrong}))
        with pytest.raises(InputError, match="'features' must have 2 names of literals"):
            verify(guide)


def wished(instance: Any) -> Any:
    """The one solution that is wished for [L]."""
    of = instance.structure
    if "wish" in of.features.literals:
        return of.features.literals["wish"] > 0
    marked = np.flatnonzero(of.features.groups["wish"])
    return np.bincount(np.concatenate([of.members(g) for g in marked]), minlength=of.literals) == 2


def _p_s(told: str, blind: bool) -> float:
    """How often the first value of a network is right, after a few steps on other instances."""
    given_ = collect(lambda seed: rota(seed, told), 32)
    own = OwnFeatures() if blind else own_features(one.structure for one in given_.instances)
    rng = np.random.default_rng(5)
    states: list[OwnState] = []
    for instance in given_.instances:
        states += states_of(instance, wished(instance)[None], given_.kinds, "hidden", rng, own)
    config = {"model": {"width": 16, "rounds": 4}, "train": {"batch": 16}}
    held = len(states) // 4
    many = ManySolutions("problem", states, held, given_.kinds, True, features=own)
    task = ManySolutionsTask(Config.of("tiny", config, "test"), many)
    torch.manual_seed(0)
    module = task.module()
    optimiser = torch.optim.AdamW(module.parameters(), lr=3e-3)
    for batch in [one for _ in range(4) for one in task.batches(rng)]:
        for loss in task.losses(module, batch, CPU, rng, compiled=True):
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return task.validation()(module)["p_s"]


@pytest.mark.parametrize("told", ["literals", "groups"])
def test_what_only_a_feature_tells_is_learned_from_it(told: str) -> None:
    seeing, blind = _p_s(told, False), _p_s(told, True)
    assert seeing > 0.95, (seeing, blind)
    assert blind < 0.55, (seeing, blind)  # one of three, by chance


def test_a_run_learns_from_them_and_its_guide_takes_them(tmp_path: Path) -> None:
    heard: list[str] = []
    trained = train(rota, 0.05, tmp_path / "run", instances=12, steps=6, report=lambda now: heard.append(now.line))
    assert dict(verify(trained.folder).features.literals).keys() == {"wish", "noise"}
    assert any("wish" in line for line in heard), heard
    assert dibs.solve(rota(99).problem(), guide=trained.guide).status is dibs.Status.SAT


def test_exported_states_have_them(tmp_path: Path) -> None:
    from safetensors import safe_open

    export_states(weighed, tmp_path / "states.safetensors", instances=4)
    with safe_open(tmp_path / "states.safetensors", "numpy") as file:
        names = json.loads(file.metadata()["literal_features"])
        assert names == ["age", "skill"]
        assert json.loads(file.metadata()["group_features"]) == ["weight", "year"]
        assert file.get_tensor("literal_features").shape == (len(file.get_tensor("target")), 2)
        assert file.get_tensor("group_features").shape == (len(file.get_tensor("kind")), 2)
        assert 20 < file.get_tensor("literal_features")[:, 0].max() <= 60
