"""explain_error(): what an error of autograd means, and which lines of the program it concerns."""

import re

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.sections import address
from autograd_surprises.messages import known_message
from autograd_surprises.recording.forward_calls import BACKWARDS
from autograd_surprises.recording.history import History
from autograd_surprises.recording.places import raised_at
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.recording.setup_lines import hooked_at, inference_at
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.where_it_went import lost_behind

SHORT, LONG = 110, 500  # characters: torch's own remedy often stands last
UNKNOWN = "the doctor does not know this message"
ONE_GRAPH = "backward() runs a second time on one graph, and the first time freed what it had saved"
OLD_GRAPH = (
    "something from before the earlier backward() is used again (a hidden state, a cache, a shared "
    "part), and that backward() freed what its graph had saved"
)


def explain_error(error: BaseException, recording: Recorder | None = None) -> Finding:
    """What an error of autograd means, where it was raised, and what helps.

    recording  the trace() of the forward pass: with it, the guilty lines are named

    Raises TypeError if `error` is not an exception.

    >>> try: torch.ones(2).sum().backward()
    ... except RuntimeError as error: print(explain_error(error).cause)
    not-connected
    """
    if not isinstance(error, BaseException):
        raise TypeError(f"explain_error needs an exception, got {type(error).__name__}")
    return finding_of_error(error, History(recording))


def finding_of_error(
    error: BaseException, history: History, failed: BackwardStep | None = None
) -> Finding:
    """The same for an error of backward. `failed` is the step that raised it, if it is known."""
    message = str(error).strip()
    known = known_message(message)
    cause = known.cause if known else "unknown-error"
    places = _lines(history, cause, message, failed)
    sentence = known.meaning if known else UNKNOWN
    if cause == "second-backward" and places:
        sentence = OLD_GRAPH if len(places) > 1 else ONE_GRAPH
    raised = raised_at(error.__traceback__)
    if raised is not None and raised not in [where for _, where in places]:
        places.append(("raised at", raised))
    first, length = message.partition("\n")[0], SHORT if known else LONG
    return Finding(
        name=type(error).__name__,
        status="error",
        cause=cause,
        sentence=sentence,
        places=tuple(places),
        fix=known.fix if known else "",
        node=f"raised in {failed.name}" if failed is not None else "",
        also=(first if len(first) <= length else f"{first[:length]}…",),
        section=address(known.section) if known else "",
        rule=known.id if known else "",
    )


def _lines(history, cause, message, failed):
    """The places that an error concerns, the guilty one first."""
    needed = history.call_of(failed.node) if failed is not None else None
    search = SEARCHES.get(cause)
    places = search(history, message, needed) if search else []
    if needed is not None and cause != "second-backward":
        places.append((f"needed by {failed.name}, made at", needed.node_line))
    return [(label, where) for label, where in places if where is not None]


def _overwritten(history, message, needed):
    """The write, after the value was needed, into a result of the operation in the message."""
    writes = [c for c in history.calls if c.in_place and (not needed or c.index > needed.index)]
    operation = re.search(r"which is output \d+ of (\w+?)(?:Backward\d*)?,", message)
    name = operation[1].lower() if operation else ""
    for write in writes:
        for state in write.inputs:
            maker = history.makers.get(state)
            named = maker is not None and name and name in maker.name.replace("_", "").lower()
            if named and maker.makes_history:
                return [("overwritten at", write.where), ("made at", maker.where)]
    return [("overwritten at, probably", write.where) for write in writes[-1:]]


def _freed(history, message, needed):
    """The backward that freed the graph, and the call that used a part of it again."""
    graph = history.graph_of(history.failed)
    for backward in reversed([call for call in history.calls if call.name in BACKWARDS]):
        before = graph & history.graph_of(backward.inputs)
        if not before:
            continue
        freed = ("freed by", backward.where)
        for call in history.calls[backward.index + 1 :]:
            old = next((state for state in call.inputs if state in before), None)
            if old is not None and call.makes_history and graph.intersection(call.outputs):
                made = (needed or history.makers[old]).where
                return [("the old graph was made at", made), ("used again at", call.where), freed]
        return [freed]
    return []


def _operation(history, message, needed):
    """The first call of the operation in the message."""
    name = re.search(r"aten::(\w+)", message)
    start = name[1].replace("_", "")[:8] if name else "?"
    call = next((c for c in history.calls if c.name.replace("_", "").startswith(start)), None)
    return [("called at", call.where)] if call else []


def _function(history, message, needed):
    """Where the Function was applied that the message names, or that is differentiable once."""
    functions = [call.function for call in history.calls if call.function]
    named = [found for found in functions if f"{found[0].__name__}Backward" in message]
    if "once_differentiable" in message:  # which names none
        named = sorted(functions, key=lambda found: not hasattr(found[0].backward, "__wrapped__"))
    return [(f"{found.__name__}.apply at", where) for found, where in named[:1]]


def _hooked(history, message, needed):
    """The last call before the one that raised; if a library made it, first the hook's line."""
    made = [call for call in history.calls if call.makes_history][-1:]
    hooks = hooked_at() if made and made[0].where.inside else []
    first = [("a full backward hook was registered at", hooks[0])] if len(hooks) == 1 else []
    return first + [("what it changes was made at", call.where) for call in made]


def _inference(history, message, needed):
    # Without a recording, what the last trace saw may be another place.
    return [("inference mode was last entered at", inference_at())] if history.calls else []


SEARCHES = {
    "hooked-in-place": _hooked,
    "inference-tensor": _inference,
    "overwritten": _overwritten,
    "second-backward": _freed,
    "not-connected": lambda history, *_: lost_behind(history, history.failed),
    "unused-input": lambda history, *_: lost_behind(history, history.failed),
    "no-derivative": _operation,
    "no-double-backward": _operation,
    "once-differentiable": _function,
    "view-in-place": _function,
}
