"""Right and wrong answers on the gate of a mixture of experts."""

import torch


def gate(weigh, choose=None):
    """The gate of the exercise: `weigh` makes weights from the scores and the chosen ones."""

    def answer(scores, outputs, k):
        places = (choose(scores, outputs) if choose else scores).topk(k).indices
        chosen = torch.zeros_like(scores).scatter(-1, places, 1.0)
        return (weigh(scores, chosen) * outputs).sum(-1)

    return answer


def of_the_best(scores, outputs, k):
    best = scores.topk(k)
    return (best.values.softmax(-1) * outputs.gather(-1, best.indices)).sum(-1)


RIGHT = {"answers_tokens_experts.1": {"a mask": gate(lambda s, chosen: s.softmax(-1) * chosen)}}

WRONG = {
    "answers_tokens_experts.1": {
        "softmax of the best": (of_the_best, "with k = 1 it is always 1"),
        "alone": (gate(lambda s, chosen: chosen), "The gate multiplies nothing"),
        "all": (gate(lambda s, chosen: s.softmax(-1)), "All experts are used"),
        "scores": (gate(lambda s, chosen: s * chosen), "take their softmax"),
        "over the tokens": (gate(lambda s, chosen: s.softmax(0) * chosen), "is over the tokens"),
        "the largest products": (
            gate(lambda s, chosen: s.softmax(-1) * chosen, lambda s, o: s.softmax(-1) * o),
            "choose by the scores",
        ),
        "detached": (
            gate(lambda s, chosen: s.detach().softmax(-1) * chosen),
            "respect to scores: yours is NoneType … Leave out detach()",
        ),
    }
}
