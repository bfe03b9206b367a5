"""The gradient is a number, but not the right one: the cured twin has that."""

import torch
from torch import nn

from cases.case import CUT, Visit, case


@case("`zero_grad()` forgotten: gradients add up", "wrong", "accumulated")
def gradients_added_up():
    weight = torch.ones(2, requires_grad=True)
    for _ in range(3):
        loss = (weight * 2).sum()
        loss.backward()  #! weight = torch.ones(2, requires_grad=True)
    loss = (weight * 2).sum()
    return Visit(loss, {"weight": weight})


@case("backward changes what it was given", "wrong", "changed-gradient")
def gradient_changed_in_place():
    class TenfoldInPlace(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad_output):
            grad_output *= 10  #: grad_output = grad_output * 10
            return grad_output

    x = torch.ones(3, requires_grad=True)
    hidden = x * 2
    y = hidden + TenfoldInPlace.apply(hidden)  #!
    loss = (y * torch.tensor([1.0, 2.0, 3.0])).sum()
    return Visit(loss, {"x": x})


@case("a Function with a wrong formula", "wrong", "own-function", said="ok")
def wrong_formula():
    class CubeWithoutSquare(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * 3 * x  #: grad_output * 3 * x**2

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    loss = CubeWithoutSquare.apply(x).sum()  #!
    return Visit(loss, {"x": x})


@case(
    "(N, 1) against (N,) broadcasts to (N, N)",
    "wrong",
    "broadcast",
    missed_alone="the graph keeps no shapes of the forward pass",
)
def loss_broadcast():
    model = nn.Linear(2, 1)
    target = torch.arange(4.0)
    loss = ((model(torch.rand(4, 2)) - target) ** 2).mean()  #! -
    #: loss = ((model(torch.rand(4, 2)).squeeze(1) - target) ** 2).mean()
    return Visit(loss, {"weight": model.weight}, model=model)


@case("a sigmoid, then a loss that contains one", "wrong", "double-softmax")
def sigmoid_twice():
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    x, label = torch.randn(6, 4), torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    score = model(x)  #!
    loss = nn.BCEWithLogitsLoss()(score.squeeze(1), label)  #! nn.BCELoss()(score.squeeze(1), label)
    return Visit(loss, {"weight": model[0].weight})


@case("`nll_loss` of probabilities", "wrong", "nll-of-probabilities")
def likelihood_of_probabilities():
    model, x, label = nn.Linear(4, 3), torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    loss = nn.functional.nll_loss(model(x).softmax(1), label)  #! -
    #: loss = nn.functional.nll_loss(model(x).log_softmax(1), label)
    return Visit(loss, {"weight": model.weight})


@case("a vote of probabilities, then cross_entropy", "wrong", "double-softmax")
def vote_of_neighbours():
    similarities = torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.0, 0.0]], requires_grad=True)
    labels = nn.functional.one_hot(torch.tensor([0, 1, 1]), 2).float()
    votes = torch.softmax(similarities, dim=1) @ labels  #!
    loss = nn.functional.cross_entropy(votes.reshape(-1, 2), torch.tensor([0, 1]))  #: -
    #: loss = nn.functional.nll_loss(votes.log(), torch.tensor([0, 1]))
    return Visit(loss, {"similarities": similarities})


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


@case("a module with a backward of its own", "wrong", "module-backward")
def reversal_module():
    class Reversal(nn.Module):
        def forward(self, x):
            return x * 1

        def backward(self, grad_output):  #!
            return -grad_output

    model = nn.Sequential(nn.Linear(3, 2), Reversal())  #: nn.Sequential(nn.Linear(3, 2))
    loss = model(torch.ones(1, 3)).sum()  #: Reversed.apply(model(torch.ones(1, 3))).sum()
    return Visit(loss, {"weight": model[0].weight}, model=model)


@case("a term of the loss that was copied into a new tensor", "wrong", "copy", missed_alone=CUT)
def copied_term():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    penalties = [value.abs() for value in weight]
    loss = weight.exp().sum() + 0.1 * torch.tensor(penalties).mean()  #! -
    #: loss = weight.exp().sum() + 0.1 * torch.stack(penalties).mean()
    return Visit(loss, {"weight": weight})


@case("a term of the loss that counts wrong decisions", "wrong", "integer", missed_alone=CUT)
def counted_term():
    scores = torch.tensor([[1.0, 2.0], [0.5, 0.0]], requires_grad=True)
    target = torch.tensor([0, 0])
    errors = (scores.argmax(1) != target).float().mean()  #! 1 - scores.softmax(1)[:, 0].mean()
    loss = nn.functional.cross_entropy(scores, target) + errors
    return Visit(loss, {"scores": scores})


@case("a term of the loss on detached scores", "wrong", "detach", missed_alone=CUT)
def detached_term():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    verdict = torch.tanh(weight.detach())  #! torch.tanh(weight)
    loss = weight.exp().sum() + 0.1 * nn.functional.mse_loss(verdict, torch.ones(2))
    return Visit(loss, {"weight": weight})


@case(
    "`zero_grad()` forgotten over several batches",
    "wrong",
    "accumulated",
    missed_alone="what earlier steps did is seen by a trace only",
)
def batches_added_up():
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for batch in torch.tensor([[1.0, 2.0], [0.5, 1.0]]):
        #: optimizer.zero_grad()
        (weight * batch).square().sum().backward()  #!
        optimizer.step()
    return Visit((weight * torch.tensor([2.0, 1.0])).square().sum(), {"weight": weight})


def scores_and_column():
    policy = nn.Linear(4, 3)
    log_prob = policy(torch.randn(8, 4)).log_softmax(1)[range(8), torch.randint(3, (8,))]
    return policy, log_prob, torch.randn(8, 1)


@case(
    "an advantage of each sample with each, made of constants",
    "wrong",
    "broadcast",
    missed_alone="the graph keeps no shape of a constant",
)
def advantages_of_constants():
    policy, log_prob, values = scores_and_column()
    advantage = torch.randn(8) - values  #! torch.randn(8) - values.squeeze(1)
    loss = -(advantage * log_prob).mean()
    return Visit(loss, policy)


@case("a backward that does not use the gradient that arrives", "wrong", "ignored-gradient")
def slope_alone():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 2 * x  #: [2 * value * grad_output for value in [x]][0]  # in an inner scope

    weight = torch.ones(2, requires_grad=True)
    loss = Square.apply(weight).mean()  #!
    return Visit(loss, {"weight": weight})


@case("a term of the loss that is a number of Python", "wrong", "escape", missed_alone=CUT)
def term_as_a_number():
    """https://github.com/guopengf/FL-MRCM/issues/10"""
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    penalty = weight.abs().sum().sqrt().detach().item()  #! weight.abs().sum().sqrt()
    loss = weight.exp().sum() + 0.1 * penalty
    return Visit(loss, {"weight": weight})


@case("a policy whose softmax runs over the batch", "wrong", "softmax-dimension")
def softmax_over_the_batch():
    """https://github.com/DeepReinforcementLearning/DeepReinforcementLearningInAction/issues/32"""
    policy = nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=0))  #! -
    #: policy = nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=1))
    actions = torch.randint(2, (20, 1))
    loss = -policy(torch.randn(20, 4)).gather(1, actions).log().mean()
    return Visit(loss, {"0.weight": policy[0].weight}, model=policy)


@case("log_softmax over the words of a sentence", "wrong", "softmax-dimension")
def log_softmax_over_the_words():
    scores = torch.randn(3, 5, 4, requires_grad=True)
    log_probabilities = scores.log_softmax(1)  #! scores.log_softmax(2)
    loss = nn.functional.nll_loss(log_probabilities.flatten(0, 1), torch.randint(4, (15,)))
    return Visit(loss, {"scores": scores})
