"""Car sequencing (CSPLib 001) as a model: `python examples/cars.py`.

Cars of several classes go down one line. A class has options (a sunroof, a radio), and the workshop of an option can
take at most p of any q cars that follow one another.
"""

import dibs

CAPACITY = [(1, 2), (2, 3), (1, 3), (2, 5), (1, 5)]  # p of q, for each option
CLASSES = {  # how many cars, and which options they have
    0: (1, "10110"),
    1: (1, "00010"),
    2: (2, "01001"),
    3: (2, "01010"),
    4: (2, "10100"),
    5: (2, "11000"),
}


def cars(classes: dict[int, tuple[int, str]], capacity: list[tuple[int, int]], implied: bool = True) -> dibs.Model:
    """A class for each place in the line: as many of each as there are cars, no workshop overrun.

    What workshops can take is said of Booleans, "this place lacks that option": groups of q of them are quicker than
    groups of all classes at q places. `implied`: also what follows for the beginning of the line, as the rest of it can
    take only so many.
    """
    m = dibs.Model()
    total = sum(count for count, _ in classes.values())
    place = [m.choice(f"place {i}", classes) for i in range(total)]
    for kind, (count, _) in classes.items():
        m.exactly(count, [car == kind for car in place], role="demand")
    for option, (most, window) in enumerate(capacity):
        having = [kind for kind, (_, options) in classes.items() if options[option] == "1"]
        lacks = [m.boolean(f"place {i} lacks {option}") for i in range(total)]
        for i, car in enumerate(place):
            m.exactly(1, [lacks[i], *(car == kind for kind in having)], role="option")
        for first in range(total - window + 1):
            m.at_least(window - most, lacks[first : first + window], role="workshop")
        demand = sum(classes[kind][0] for kind in having)
        for blocks in range(1, total // window + 1 if implied else 0):
            early = total - blocks * window
            if 0 < demand - blocks * most <= early:
                m.at_most(early - demand + blocks * most, lacks[:early], role="early")
    return m


if __name__ == "__main__":
    outcome = cars(CLASSES, CAPACITY).solve()
    print(outcome.status, f"{outcome.nodes} nodes")
    for i in range(sum(count for count, _ in CLASSES.values())):
        kind = outcome[f"place {i}"]
        print(f"place {i}: class {kind}, options {CLASSES[kind][1]}")
