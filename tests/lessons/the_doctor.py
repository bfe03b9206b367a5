"""Wrong answers on the step at which a training loop breaks."""

from autograd_surprises import watch


def reports_of(model, optimizer, train):
    with watch(model, optimizer) as w:
        train(model, optimizer)
    return w.reports


def bad_steps(*loop):
    return [each.step for each in reports_of(*loop) if not each.healthy]


RIGHT = {"the_doctor.1": {"listed": lambda *loop: (bad_steps(*loop) or [None])[0]}}
WRONG = {
    "the_doctor.1": {
        "not called": (lambda model, optimizer, train: None, "train was not called"),
        "counted from 0": (
            lambda *loop: next((step - 1 for step in bad_steps(*loop)), None),
            "yours 3, expected 4 … Steps count from 1",
        ),
        "the first report": (
            lambda *loop: reports_of(*loop)[0].step,
            "yours 1, expected 4 … That is the first step",
        ),
        "the last step": (
            lambda *loop: 6 if bad_steps(*loop) else None,
            "yours 6, expected 4 … That is the last step",
        ),
        "0 for none": (lambda *loop: (bad_steps(*loop) or [0])[0], "yours 0, expected None"),
        "never": (lambda *loop: bad_steps(*loop) and None, "yours None, expected 4"),
    }
}
