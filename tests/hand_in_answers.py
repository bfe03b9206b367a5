"""Hand in our right and wrong answers to a judge in another process.

    python tests/hand_in_answers.py INCOMING OUTGOING EXERCISE ...

Its tests have the same answers, in the same order.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from answers import RIGHT, WRONG, solutions  # noqa: E402

from tools.classroom.remote import Answering  # noqa: E402


def answers_to(number):
    """{name: the answer} of the solution, of other right answers, and of wrong ones."""
    right = {f"right: {name}": answer for name, answer in RIGHT.get(number, {}).items()}
    wrong = {f"wrong: {name}": answer for name, (answer, _) in WRONG[number].items()}
    return {"solution": solutions()[number], **right, **wrong}


if __name__ == "__main__":
    session = Answering(int(sys.argv[1]), int(sys.argv[2]))
    for number in sys.argv[3:]:
        for answer in answers_to(number).values():
            session.ask(number, answer)
