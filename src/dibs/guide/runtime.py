"""What runs a guide's model: ONNX Runtime, on a GPU where its provider is installed, or compiled code of our own.

Without a GPU the relational denoiser runs as `dibs.guide.native`, several times as fast; both say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Bools, Floats32
from dibs.errors import InputError
from dibs.guide.card import AGAIN, CARD, ONNX, WEIGHTS, Card
from dibs.guide.codec import check_vocabulary, encode, from_true
from dibs.guide.features import BOUNDED, PLAIN
from dibs.problem.cnf import CNF
from dibs.problem.shape import shape
from dibs.problem.structure import Structure
from dibs.problem.sudoku import default_box
from dibs.search.guidance import Runtime
from dibs.wording import one_line

if TYPE_CHECKING:
    from dibs.guide.graph import Graph

GRIDS = ("sudoku", "latin")
GPU, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
SILENT = 4  # what ONNX Runtime has to say is raised, in one line


class Backend(Protocol):
    """What runs the model."""

    def refusal(self, structure: Structure) -> str | None:
        """Why problems of this structure cannot be taken, in a line that names what can; None if they can."""

    def logits(self, structure: Structure, open_: Bools, true: Bools) -> Floats32:
        """Raw logits [n, L] of the states with the literals `open_` and `true` [n, L]; only open literals matter."""

    def example(self) -> tuple[Structure, Bools, Bools]:
        """A structure that can be taken, and a state of it as `open_` and `true` [1, L]."""


def backend(folder: Path, card: Card, threads: int, runtime: Runtime = "auto", rounds: int | None = None) -> Backend:
    """The model of a folder that has been verified; `threads` for one forward pass; `rounds`: not those of the card."""
    compiled = card.kind == "relational" and runtime == "auto" and not _has_gpu() and compiles()
    if rounds is not None and not compiled:
        none = {"transformer": "a transformer has none", "own": "a network of your own has none"}
        why = none.get(card.kind, "the rounds of its ONNX graph are fixed")
        raise InputError(f"rounds = {rounds}: {why}", str(folder))
    if card.kind == "transformer":
        inputs = ["tokens", "open"] if card.config.get("candidates") else ["tokens"]
        return Transformer(Session(folder, threads, inputs), folder, card)
    if card.kind == "own":
        return OwnNetwork(folder, card)
    if compiled:
        return Compiled(folder, card, threads, rounds)
    # One thread for a session: with more, ONNX Runtime adds to a group from several without a lock.
    groups = ["groups"] if card.family in GRIDS else ["literal", "group"]
    own = ["group_features"] if card.features.groups else []
    return Relational(Session(folder, 1, ["features", *groups, "sizes", *own]), card, threads)


def _has_gpu() -> bool:
    try:
        import onnxruntime
    except ImportError:
        return False
    return GPU in onnxruntime.get_available_providers()


def compiles() -> bool:
    """Whether Numba is switched on: `NUMBA_DISABLE_JIT=1` is for looking into kernels."""
    from numba.core import config

    return not config.DISABLE_JIT


class Session:
    """model.onnx, ready to run; it must have exactly the inputs `names` and the output "logits"."""

    def __init__(self, folder: Path, threads: int, names: Sequence[str]) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise InputError("a trained guide is run by ONNX Runtime: pip install onnxruntime") from None

        self.path = folder / ONNX
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # between calls the search runs
        options.log_severity_level = SILENT
        there = onnxruntime.get_available_providers()
        try:
            self._session = onnxruntime.InferenceSession(
                self.path, options, providers=[provider for provider in (GPU, CPU) if provider in there]
            )
        except Exception as error:  # ONNX Runtime's own kinds have no other base
            raise InputError(f"cannot be loaded: {one_line(error)}; {AGAIN}", str(self.path)) from None
        inputs = [node.name for node in self._session.get_inputs()]
        outputs = [node.name for node in self._session.get_outputs()]
        if sorted(inputs) != sorted(names) or outputs != ["logits"]:
            raise InputError(
                f"takes {', '.join(inputs)} and gives {', '.join(outputs)}; its card's kind takes {', '.join(names)} "
                f"and gives logits; {AGAIN}",
                str(self.path),
            )

    def run(self, shape: tuple[int, ...], **inputs: NDArray[Any]) -> Floats32:
        """The logits, float32 of `shape`."""
        try:
            [logits] = self._session.run(["logits"], inputs)
        except Exception as error:
            raise InputError(f"failed: {one_line(error)}", str(self.path)) from None
        if logits.shape != shape or logits.dtype != np.float32:
            raise InputError(f"returned {logits.dtype} {logits.shape}, not float32 {shape}", str(self.path))
        found: Floats32 = logits
        return found


class Graphs:
    """A model of open literals and groups: it takes grids, or formulas, or problems with groups that it knows."""

    def __init__(self, card: Card) -> None:
        self.family, self.kinds, self.own = card.family, card.kinds, card.features
        self.per = BOUNDED if card.config.get("bounds") else PLAIN  # features of a kind

    def refusal(self, structure: Structure) -> str | None:
        if self.family == "problem":
            return self._unknown(structure)
        if structure.family in (GRIDS if self.family in GRIDS else (self.family,)):
            return None
        takes = "Sudokus and Latin squares" if self.family in GRIDS else "formulas"
        return f"these weights take {takes}, not the family {structure.family}"

    def _unknown(self, structure: Structure) -> str | None:
        from dibs.guide.graph import unknown_kind

        name = unknown_kind(structure, self.kinds)
        others = ", ".join(self.kinds[1:]) or "none"
        has = f"is of the family {structure.family}" if structure.family in ("cnf", *GRIDS) else f"has {name!r}"
        return name and f"these weights take groups of the kinds {others}; this problem {has}: another family"

    def _filled(self, structure: Structure, open_: Bools, true: Bools, run: Callable[[Graph], Floats32]) -> Floats32:
        """Logits [n, L]; `run` is asked for those of the open literals, where there are any."""
        from dibs.guide.graph import graph_of, network_groups

        found = graph_of(network_groups(structure, self.kinds, self.own), open_, true, len(self.kinds), self.per)
        logits = np.zeros(open_.shape, np.float32)
        if len(found.literal):
            logits[found.state, found.literal] = run(found)
        return logits

    def example(self) -> tuple[Structure, Bools, Bools]:
        if self.family in GRIDS:
            return _blank(shape(4, (2, 2)).structure)
        if self.family == "cnf":
            return _blank(CNF(2, [(1, 2)]).structure)
        return _blank(Structure.build(2, decide=[[0, 1]]))


class OwnNetwork(Graphs):
    """A network of the user's own, run by torch; its module is imported by the name on the card."""

    def __init__(self, folder: Path, card: Card) -> None:
        try:
            import torch  # noqa: F401
        except ImportError:
            raise InputError(f"its network {card.network} needs torch: pip install torch", str(folder)) from None
        from dibs.guide.network import loaded

        super().__init__(card)
        self.network = loaded(folder / WEIGHTS, card)

    def logits(self, structure: Structure, open_: Bools, true: Bools) -> Floats32:
        import torch

        from dibs.guide.network import Batch, logits_of

        with torch.inference_mode():
            return self._filled(structure, open_, true, lambda of: logits_of(self.network, Batch(of)).float().numpy())


class Compiled(Graphs):
    """model.safetensors as compiled code."""

    def __init__(self, folder: Path, card: Card, threads: int = 1, rounds: int | None = None) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        from dibs.guide.native import Native

        super().__init__(card)
        path = folder / WEIGHTS
        try:
            width, known, settled = (card.config.get(key, 0.0) for key in ("width", "rounds", "settled"))
            takes = {"kinds": card.kinds, "own": card.features}
            self.model = Native(load_file(path), width, rounds or known, threads, settled=settled, **takes)
        except (SafetensorError, TypeError, ValueError) as error:
            raise InputError(f"cannot be loaded: {one_line(error)}; {AGAIN}", str(path)) from None

    def logits(self, structure: Structure, open_: Bools, true: Bools) -> Floats32:
        return self.model.logits(structure, open_, true)


class Relational(Graphs):
    """Inputs: `features` [N, F] of the N open literals, `groups` [N, K] they are in, `sizes` of the kinds.

    For all but grids `literal` and `group` [E] of each membership instead of `groups`. States are independent of one
    another, so each of `threads` runs a part of a batch. Every state has all rounds of the card: the graph does not
    look whether anything still changes.
    """

    def __init__(self, session: Session, card: Card, threads: int = 1) -> None:
        super().__init__(card)
        self.session = session
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="guide") if threads > 1 else None
        self.threads = threads

    def logits(self, structure: Structure, open_: Bools, true: Bools) -> Floats32:
        if self.pool is None or len(open_) < self.threads:
            return self._part(structure, open_, true)
        parts = np.array_split(open_, self.threads), np.array_split(true, self.threads)
        return np.concatenate(list(self.pool.map(partial(self._part, structure), *parts)))

    def _part(self, structure: Structure, open_: Bools, true: Bools) -> Floats32:
        return self._filled(structure, open_, true, self._run)

    def _run(self, found: Graph) -> Floats32:
        groups: dict[str, NDArray[Any]] = {}
        groups |= _memberships(found) if self.family not in GRIDS else {"groups": _columns(found)}
        if self.own.groups:
            groups["group_features"] = found.group_features
        count = len(found.literal)
        return self.session.run((count,), features=found.features, sizes=np.diff(found.kinds), **groups)


def _columns(found: Graph) -> NDArray[np.int64]:
    """[N, K] the groups of each literal; one that is in fewer than K has nobody's group, the last, in the columns left.

    Literals of one grid may be in different numbers of groups: between denoising steps a cell that lost all its
    literals to kept values gets them back, and groups with a kept value are left out of the graph.
    """
    count = _counts(found)
    columns = np.full((len(count), count.max(initial=0)), found.kinds[-1])
    columns[np.arange(columns.shape[1]) < count[:, None]] = found.link
    return columns


def _counts(found: Graph) -> NDArray[np.int64]:
    """[N] how many groups each literal is in."""
    return np.diff(np.append(found.at, len(found.link)))


def _memberships(found: Graph) -> dict[str, NDArray[Any]]:
    """`literal` and `group` [E] of each membership."""
    count = _counts(found)
    return {"literal": np.repeat(np.arange(len(count)), count), "group": found.link}


class Transformer:
    """Input: `tokens` [n, cells] of the assigned cells, and `open` [n, cells, size] for one that sees candidates.

    It has learned one grid size.
    """

    def __init__(self, session: Session, folder: Path, card: Card) -> None:
        self.session = session
        self.candidates = bool(card.config.get("candidates"))
        self.cells, self.size, self.vocabulary = (card.config[key] for key in ("cells", "size", "vocabulary"))
        box = default_box(self.size)
        if self.cells != self.size**2 or card.family != "sudoku" or box is None:
            raise InputError(f"config has {self.cells} cells and {self.size} values: no Sudoku", str(folder))
        self.box = box
        try:
            check_vocabulary(self.size, self.vocabulary)
        except ValueError as error:
            raise InputError(f"config: {error}; {AGAIN}", str(folder / CARD)) from None

    def refusal(self, structure: Structure) -> str | None:
        if structure.family == "sudoku" and structure.shape == self.box:
            return None
        hint = ": use --guide relational" if structure.family in ("sudoku", "latin") else ""
        return f"these weights take {self.size}x{self.size} Sudokus; this puzzle is {_described(structure)}{hint}"

    def logits(self, structure: Structure, open_: Bools, true: Bools) -> Floats32:
        tokens = encode(from_true(true, self.size), self.size, self.vocabulary)
        grid = (len(tokens), self.cells, self.size)
        seen = {"open": open_.reshape(grid).astype(np.float32)} if self.candidates else {}
        return self.session.run(grid, tokens=tokens, **seen).reshape(open_.shape)

    def example(self) -> tuple[Structure, Bools, Bools]:
        return _blank(shape(self.size, self.box).structure)


def _blank(structure: Structure) -> tuple[Structure, Bools, Bools]:
    """A grid with nothing given."""
    return structure, np.ones((1, structure.literals), bool), np.zeros((1, structure.literals), bool)


def _described(structure: Structure) -> str:
    """`16x16`, `6x6 with 3x2 boxes`, `a 9x9 Latin square`, `of the family cnf`."""
    if structure.family == "latin":
        [size] = structure.shape
        return f"a {size}x{size} Latin square"
    if structure.family != "sudoku":
        return f"of the family {structure.family}"
    rows, columns = structure.shape
    size = rows * columns
    usual = default_box(size) == structure.shape
    return f"{size}x{size}" + ("" if usual else f" with {rows}x{columns} boxes")
