"""A school's week as a model: `python examples/timetable.py`.

Every lesson gets an hour. A teacher and a class have one lesson at a time, there are so many rooms, nobody teaches more
than three lessons a day, and a class has no subject twice on one day.
"""

import dibs

DAYS, HOURS, ROOMS, MOST = ["Mon", "Tue", "Wed"], range(1, 5), 3, 3
TEACHER = {"maths": "Ada", "physics": "Ada", "history": "Ben", "music": "Cleo", "sports": "Cleo"}
WEEK = {"maths": 3, "physics": 1, "history": 2, "music": 1, "sports": 1}  # lessons of each class
CLASSES = ["1a", "1b"]
ABSENT = {("Ben", "Mon"), ("Cleo", "Wed")}


def timetable() -> dibs.Model:
    m = dibs.Model()
    slots = [f"{day} {hour}" for day in DAYS for hour in HOURS]
    lessons = [(c, subject, i) for c in CLASSES for subject, count in WEEK.items() for i in range(count)]
    at = {lesson: m.choice(lesson, slots) for lesson in lessons}
    for c in CLASSES:
        m.all_different([at[lesson] for lesson in lessons if lesson[0] == c], role="class")
    for teacher in set(TEACHER.values()):
        taught = [lesson for lesson in lessons if TEACHER[lesson[1]] == teacher]
        m.all_different([at[lesson] for lesson in taught], role="teacher")
        for day in DAYS:
            held = [at[lesson] == f"{day} {hour}" for lesson in taught for hour in HOURS]
            m.at_most(0 if (teacher, day) in ABSENT else MOST, held, role="day of a teacher")
    for slot in slots:
        m.at_most(ROOMS, [at[lesson] == slot for lesson in lessons], role="rooms")
    for c in CLASSES:
        for subject in WEEK:
            same = [lesson for lesson in lessons if lesson[:2] == (c, subject)]
            for day in DAYS:
                m.at_most(1, [at[lesson] == f"{day} {hour}" for lesson in same for hour in HOURS], role="once a day")
    return m


if __name__ == "__main__":
    outcome = timetable().solve()
    print(outcome.status, f"{outcome.nodes} nodes")
    for (c, subject, _), slot in sorted((outcome.solution or {}).items(), key=lambda item: (item[0][0], item[1])):
        print(c, slot, subject, TEACHER[subject])
