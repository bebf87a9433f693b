"""`dibs generate`: flags, outputs, and that nothing half-written keeps its name. What is made is tested elsewhere."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tiny
from dibs import CNF, Instance, Latin, Sudoku, generate, read_instances
from dibs.generate import doubting
from dibs.problem.reading import Family
from shell import PUZZLE, SEARCHED, Run, runner

FORMULA = CNF(3, [[1, -2, 3], [-1, 2]])
MADE: dict[str, Instance] = {
    "sudoku": Sudoku.parse(PUZZLE),
    "latin": Latin.parse("1..."),
    "sat": FORMULA,
    "low_clue": Sudoku.parse(SEARCHED),
    "hard": Sudoku.parse(SEARCHED),
    "doubted": Sudoku.parse(SEARCHED),
}
ONE_OF_EACH = ["sudoku", "latin --order 2 --holes 3", "sat --variables 3", "low-clue", "hard", "doubted"]


class Fake:
    """Stands in for every function of `dibs.generate`: notes how it was called, and may fail after some instances."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.flags: dict[str, Any] = {}
        self.guide: tuple[Any, ...] = ()
        self.failure: BaseException | None = None
        self.made = 10**9  # instances before it stops, or fails

    def __call__(self, count: int, *guide: Any, **flags: Any) -> Iterator[Instance]:
        self.count, self.flags = count, {name: flag for name, flag in flags.items() if name != "progress"}
        self.guide = guide
        for _ in range(min(count, self.made)):
            yield MADE[self.name]
        if self.failure:
            raise self.failure


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Fake]:
    made = {name: Fake(name) for name in MADE}
    for name, fake in made.items():
        monkeypatch.setattr(generate, name, fake)
    return made


def test_sudoku_to_standard_output(run: Run, fakes: dict[str, Fake]) -> None:
    result = run("generate", "sudoku", 2, "--givens", "22-26", "--minimal", "--seed", 7)
    assert (result.code, result.err) == (0, "")
    head = "# dibs generate sudoku 2 --box 3x3 --givens 22-26 --minimal --seed 7\n"
    assert result.out == f"{head}{PUZZLE}\n{PUZZLE}\n"
    assert fakes["sudoku"].count == 2
    assert fakes["sudoku"].flags == {
        "box": (3, 3),
        "givens": (22, 26),
        "minimal": True,
        "symmetric": False,
        "kept": None,
        "seed": 7,
        "workers": None,
    }


def test_sudokus_that_keep_cells(run: Run, fakes: dict[str, Fake]) -> None:
    head = "# dibs generate sudoku 1 --box 3x3 --kept 0.44 --seed 3\n"
    assert run("generate", "sudoku", "--kept", "0.44", "--seed", 3).out == f"{head}{PUZZLE}\n"
    assert fakes["sudoku"].flags["kept"] == 0.44
    for text, number in (("1", 1), ("1.0", 1.0)):  # one cell, or all of them
        assert run("generate", "sudoku", "--kept", text).out.startswith(
            f"# dibs generate sudoku 1 --box 3x3 --kept {text}"
        )
        assert (fakes["sudoku"].flags["kept"], type(fakes["sudoku"].flags["kept"])) == (number, type(number))
    assert "in one or more ways" in run("generate", "sudoku", "--help").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--kept 1.5", "dibs: kept = 1.5: a fraction must be above 0 and at most 1"),
        (
            "--kept 0.4 --givens 24",
            "dibs: kept = 0.4: cells are kept at random, so without givens, minimal and symmetric",
        ),
        ("--kept many", 'dibs: Invalid value for --kept: unable to convert "many"'),
        ("--size 36", "dibs: 36x36: the largest size is 25x25, with kept 36x36"),
    ],
)
def test_what_cannot_be_kept(run: Run, words: str, message: str) -> None:
    assert run("generate", "sudoku", *words.split()).complaint.startswith(message)


@pytest.mark.parametrize(
    ("words", "box"),
    [([], (3, 3)), (["--size", "16"], (4, 4)), (["--size", "6"], (2, 3)), (["--size", "6", "--box", "3x2"], (3, 2))],
)
def test_sizes(run: Run, fakes: dict[str, Fake], words: list[str], box: tuple[int, int]) -> None:
    assert run("generate", "sudoku", *words, "--givens", 24).code == 0
    assert fakes["sudoku"].flags["box"] == box
    assert fakes["sudoku"].flags["givens"] == (24, 24)


def test_flags_of_the_others(run: Run, fakes: dict[str, Fake], tmp_path: Path) -> None:
    assert run("generate", "latin", 3, "--order", 2, "--holes", 3, "--balanced").out.count("\n1...") == 3
    assert fakes["latin"].flags == {"order": 2, "holes": 3, "balanced": True, "seed": 0}
    assert type(fakes["latin"].flags["holes"]) is int
    start = tmp_path / "start"
    start.write_text(f"{PUZZLE}\n{SEARCHED}\n")
    assert run("generate", "low-clue", "--givens", 18, "--start", start).out.endswith(f"\n{SEARCHED}\n")
    assert fakes["low_clue"].flags == {
        "givens": 18,
        "start": [Sudoku.parse(PUZZLE), Sudoku.parse(SEARCHED)],
        "seed": 0,
    }
    assert run("generate", "latin", "--order", 2, "--holes", "0.75").out.startswith(
        "# dibs generate latin 1 --order 2 --holes 0.75 --seed 0\n"
    )
    assert fakes["latin"].flags["holes"] == 0.75
    result = run("generate", "hard", 2, "--nodes", 80, "--seed", 3)
    assert result.out.startswith("# dibs generate hard 2 --nodes 80 --level hidden --seed 3\n")
    assert (fakes["hard"].count, fakes["hard"].flags) == (2, {"nodes": 80, "level": "hidden", "seed": 3})


def test_a_guide_and_what_it_doubts(run: Run, fakes: dict[str, Fake], shipped: Path, tmp_path: Path) -> None:
    path = tmp_path / "doubted"
    assert run("generate", "doubted", 2, "--doubt", "0.75", "--seed", 3, "--output", path).out == ""
    head = "# dibs generate doubted 2 --guide relational --doubt 0.75 --steps 8 --seed 3\n"
    assert path.read_text() == f"{head}{SEARCHED}\n{SEARCHED}\n"
    assert (fakes["doubted"].count, fakes["doubted"].flags) == (2, {"doubt": 0.75, "steps": 8, "start": [], "seed": 3})
    assert fakes["doubted"].guide[0].folder == shipped / "relational"
    folder = shipped / "transformer"
    result = run("generate", "doubted", "--guide", folder)
    assert result.out == f"# dibs generate doubted 1 --guide {folder} --doubt 0.5 --steps 8 --seed 0\n{SEARCHED}\n"
    assert fakes["doubted"].guide[0].folder == folder
    start = tmp_path / "start"
    start.write_text(f"{PUZZLE}\n")
    result = run("generate", "doubted", "--start", start)
    assert result.out.startswith(
        f"# dibs generate doubted 1 --guide relational --doubt 0.5 --steps 8 --start {start} --seed 0\n"
    )
    assert fakes["doubted"].flags["start"] == [Sudoku.parse(PUZZLE)]


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_that_is_too_low(run: Run, fakes: dict[str, Fake], count: int) -> None:
    for kind in ("hard", "doubted"):
        assert run("generate", kind, count).complaint == f"dibs: count = {count}: it must be a whole number, 1 or more"


@pytest.mark.parametrize("doubt", ["0", "-0.5", "nan"])
def test_a_doubt_that_is_too_low(run: Run, shipped: Path, tmp_path: Path, doubt: str) -> None:
    refused = run("generate", "doubted", "--doubt", doubt, "--output", tmp_path / "f")
    assert refused.complaint == f"dibs: doubt = {doubt}: it must be a number above 0"
    assert os.listdir(tmp_path) == []


def test_guides_that_cannot_be_asked(run: Run, shipped: Path, tmp_path: Path) -> None:
    says = "no such guide; dibs comes with relational, transformer, or give a folder"
    assert run("generate", "doubted", "--guide", "rational").complaint == f"rational: {says}"
    assert run("generate", "doubted", "--guide", tmp_path).complaint.startswith(f"{tmp_path}: has no card.json")
    four = tiny.transformer(tmp_path / "four", size=4)
    assert run("generate", "doubted", "--guide", four, "--output", tmp_path / "f").complaint == (
        f"{four}: these weights take 4x4 Sudokus; this puzzle is 9x9: use --guide relational"
    )
    assert os.listdir(tmp_path) == ["four"]


def test_doubted_puzzles_can_be_read_and_made_again(
    run: Run, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LITTER": 48, "COSTLY": 12, "BRED": 16}.items():
        monkeypatch.setattr(doubting, name, value)
    path = tmp_path / "made"
    assert run("generate", "doubted", 4, "--seed", 5, "--output", path).code == 0
    assert len([item for _, item in read_instances(path) if isinstance(item, Sudoku)]) == 4
    head = path.read_text().splitlines()[0]
    assert run(*head.removeprefix("# dibs ").split()).out == path.read_text()


def test_large_squares_are_blocks(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    large = Latin([36, *[0] * (36 * 36 - 1)])
    monkeypatch.setattr(generate, "latin", lambda count, **_: iter([large] * count))
    path = tmp_path / "squares"
    assert run("generate", "latin", 2, "--order", 36, "--holes", 1295, "--output", path).code == 0
    assert path.read_text() == f"# dibs generate latin 2 --order 36 --holes 1295 --seed 0\n{large.format()}\n\n" + (
        f"{large.format()}\n\n"
    )
    assert [item for _, item in read_instances(path, "latin")] == [large] * 2


def test_one_formula(run: Run, fakes: dict[str, Fake], tmp_path: Path) -> None:
    result = run("generate", "sat", "--variables", 3, "--clauses", 2)
    assert result.out == f"c dibs generate sat 1 --variables 3 --clauses 2 --k 3 --seed 0; number 1\n{FORMULA.format()}"
    assert fakes["sat"].flags == {"variables": 3, "clauses": 2, "k": 3, "satisfiable": False, "seed": 0}
    assert run("generate", "sat", "--variables", 3, "--output", tmp_path / "f.cnf").out == ""
    assert CNF.read(tmp_path / "f.cnf") == FORMULA


def test_formulas_in_a_folder(run: Run, fakes: dict[str, Fake], tmp_path: Path) -> None:
    folder = tmp_path / "formulas"
    for _ in range(2):  # the folder may be there already
        assert run("generate", "sat", 3, "--variables", 3, "--output", folder).code == 0
        assert sorted(os.listdir(folder)) == ["uf3-1.cnf", "uf3-2.cnf", "uf3-3.cnf"]
    assert (
        (folder / "uf3-2.cnf").read_text().startswith("c dibs generate sat 3 --variables 3 --k 3 --seed 0; number 2\n")
    )
    assert CNF.read(folder / "uf3-3.cnf") == FORMULA


def test_a_file_is_complete_or_not_there(run: Run, fakes: dict[str, Fake], tmp_path: Path) -> None:
    path = tmp_path / "puzzles"
    assert run("generate", "sudoku", 2, "--output", path).out == ""
    assert path.read_text().splitlines()[1:] == [PUZZLE, PUZZLE]
    fakes["sudoku"].made, fakes["sudoku"].failure = 1, RuntimeError("a defect")
    with pytest.raises(RuntimeError, match="a defect"):
        run("generate", "sudoku", 9, "--output", path)
    assert os.listdir(tmp_path) == ["puzzles"]
    assert len(path.read_text().splitlines()) == 3


def test_ctrl_c_keeps_what_is_finished(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(count: int, **_: Any) -> Iterator[Instance]:
        yield MADE["sudoku"]
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            yield MADE["sudoku"]

    monkeypatch.setattr(generate, "sudoku", endless)
    result = run("generate", "sudoku", 10**9)
    assert result.code == 130
    assert result.out.startswith(f"# dibs generate sudoku 1000000000 --box 3x3 --seed 0\n{PUZZLE}\n")
    assert result.out.endswith(f"{PUZZLE}\n")
    assert result.err == f"interrupted, {result.out.count(PUZZLE)} of 1000000000 made\n"
    path = tmp_path / "puzzles"
    result = run("generate", "sudoku", 10**9, "--output", path)
    assert result.code == 130
    assert os.listdir(tmp_path) == ["puzzles.partial"]
    rows = (tmp_path / "puzzles.partial").read_text().splitlines()
    assert set(rows[1:]) == {PUZZLE}
    assert result.err == f"interrupted, {len(rows) - 1} of 1000000000 made; they are in {path}.partial\n"


@pytest.mark.parametrize("words", ONE_OF_EACH)
def test_what_the_generator_refuses(run: Run, fakes: dict[str, Fake], tmp_path: Path, words: str) -> None:
    for fake in fakes.values():
        fake.made, fake.failure = 0, ValueError("holes = 99: at most 4")
    kind, *flags = words.split()
    refused = run("generate", kind, 2, *flags, "--output", tmp_path / "f")
    assert refused.complaint == "dibs: holes = 99: at most 4"
    assert os.listdir(tmp_path) == []


def test_fewer_than_wanted(run: Run, fakes: dict[str, Fake]) -> None:
    fakes["hard"].made = 2
    result = run("generate", "hard", 5)
    assert (result.code, result.err) == (1, "dibs: only 2 of 5 were found\n")
    assert result.out.count(SEARCHED) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("sudoku 0", "dibs: count = 0: it must be a whole number, 1 or more"),
        ("sudoku --size 7", "dibs: --size 7: a Sudoku has one of the sizes 4, 6, 8, 9, 10, 12, "),
        ("sudoku --size 9 --box 2x3", "dibs: --size 9 and --box 2x3 disagree"),
        ("sudoku --box 3", "dibs: --box 3: write rows x columns"),
        ("sudoku --givens many", "dibs: --givens many: write a number or a range, e.g. 24 or 22-26"),
        ("sat 2 --variables 3", "dibs: 2 formulas need a folder: give --output DIR"),
        ("latin --holes 3", 'dibs: Command "generate latin" parameter --order requires an argument.'),
        ("low-clue --start none", "none: does not exist"),
        ("hrad", 'dibs: Unknown command "hrad". Did you mean "hard"?'),
        ("hard --sed 1", "dibs: Unknown option: --sed. Did you mean --seed?"),
    ],
)
def test_bad_options(run: Run, fakes: dict[str, Fake], words: str, message: str) -> None:
    assert run("generate", *words.split()).complaint.startswith(message)


def test_places_that_cannot_be_written(run: Run, fakes: dict[str, Fake], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert run("generate", "hard", "--output", tmp_path).complaint == f"{tmp_path}: is a directory"
    missing = tmp_path / "none" / "f"
    assert run("generate", "hard", "--output", missing).complaint == (
        f"{missing}: cannot be written: No such file or directory"
    )
    assert "is not a directory" in run("generate", "sat", 2, "--variables", 3, "--output", file).complaint
    assert (os.listdir(tmp_path), file.read_text()) == (["file"], "mine")


@pytest.mark.parametrize("text", [SEARCHED[:80], "1..............."])
def test_a_bad_start(run: Run, fakes: dict[str, Fake], tmp_path: Path, text: str) -> None:
    path = tmp_path / "start"
    path.write_text(text)
    assert run("generate", "low-clue", "--start", path).complaint.startswith(f"{path}:1")


@pytest.mark.parametrize(
    "words",
    ["sudoku 3 --seed 5", "sudoku 2 --size 6", "sudoku 2 --size 25 --kept 0.44", "latin 2 --order 7 --holes 20"],
)
def test_what_is_made_can_be_read_and_made_again(run: Run, tmp_path: Path, words: str) -> None:
    path = tmp_path / "made"
    assert run("generate", *words.split(), "--output", path).code == 0
    family: Family = "latin" if words.startswith("latin") else "sudoku"
    assert [type(item).__name__.lower() for _, item in read_instances(path, family)] == [family] * int(words.split()[1])
    comment = path.read_text().splitlines()[0]
    again = run(*comment.removeprefix("# dibs ").split())
    assert again.out == path.read_text()


@pytest.mark.parametrize(
    ("words", "stem"),
    [
        ("timetable --classes 4 --teachers 4 --hours 5", "week"),
        ("colouring --nodes 20 --colours 3 --degree 4 --kind geometric", "graph"),
        ("cars --cars 12", "line"),
        ("roster --nurses 4 --days 8", "ward"),
        ("tiling --rows 5 --columns 5", "board"),
    ],
)
def test_problems_are_files_that_can_be_read(run: Run, tmp_path: Path, words: str, stem: str) -> None:
    kind, *flags = words.split()
    assert run("generate", kind, 2, *flags, "--seed", 3, "--output", tmp_path / "some").code == 0
    files = [tmp_path / "some" / f"{stem}-{i}.json" for i in (1, 2)]
    assert sorted((tmp_path / "some").iterdir()) == files
    assert run("generate", kind, *flags, "--seed", 4).out == files[1].read_text(), (
        "number 2 of seed 3 is that of seed 4"
    )
    for file in files:
        [(_, problem)] = read_instances(file)
        assert isinstance(problem, Instance)
        assert problem.structure.roles
    assert run("generate", kind, 2, *flags).complaint.endswith("need a folder: give --output DIR")


def test_routes_are_formulas_that_say_how_they_were_made(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "grids"
    assert run("generate", "routes", 2, "--size", 4, "--routes", 3, "--seed", 3, "--output", folder).code == 0
    first, second = sorted(folder.glob("grid-*.cnf"))
    assert first.read_text().startswith("c dibs generate routes 2 --size 4 --routes 3 --seed 3; number 1")
    alone = run("generate", "routes", "--size", 4, "--routes", 3, "--seed", 4).out
    assert alone.splitlines()[1:] == second.read_text().splitlines()[1:]


def test_a_timetable_that_makes_no_sense(run: Run, tmp_path: Path) -> None:
    result = run("generate", "timetable", "--classes", 5, "--teachers", 3, "--output", tmp_path / "week.json")
    assert result.complaint.startswith("dibs: classes = 5, teachers = 3")
    assert not any(tmp_path.iterdir())
