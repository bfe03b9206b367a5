"""What notebooks state about each other is written by `make notebooks`, and nobody changes it."""

import nbformat

from tools import course
from tools.notebooks import notebook_files

REMEDY = "run `make notebooks`; `python -m tools.course` is the part of it that runs no cell"


def test_nothing_has_to_be_written():
    stale = [path.name for path, text in course.course().items() if path.read_text("utf-8") != text]
    assert stale == [], REMEDY


def test_each_file_has_the_number_of_its_place():
    places = [f"{place:02}_{name}" for place, name in enumerate(course.order())]
    assert [path.stem for path in notebook_files()] == places, REMEDY


def test_the_course_takes_three_hours_and_twenty_minutes():
    topics = [topic for topic, _ in course.order().values()]
    lessons = [nbformat.read(path, as_version=4) for path in notebook_files()]
    asked = [course.minutes(each)[0] for each in lessons[: topics.count(topics[0])]]
    assert sum(asked) <= 200, asked
