"""Check on several processes."""

import torch

from lessons.asking.answers import call_answer, expect_close, expect_tensor
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import Wrong, check_of


@check_of(
    "several_processes.1",
    "Every sample counts the same, wherever it is.",
    inputs=[((1, 2, 5), torch.float32), ((3, 0), torch.float64)],
)
def check_loss_of_process(answer, lengths, dtype):
    everywhere, processes = sum(lengths), len(lengths)
    (weight,) = random_tensors(everywhere, (everywhere,), dtype=dtype)
    weight.requires_grad_()
    shares = (weight**2).split(list(lengths))
    yours = [call_answer(answer, losses, everywhere, processes) for losses in shares]
    samples = f"{' + '.join(map(str, lengths))} samples"
    where = f"gradient of the mean over {samples}"
    for each in yours:
        expect_tensor("loss of one process", each, (), "Add up the losses.")
        if torch.autograd.grad(each, weight, allow_unused=True, retain_graph=True)[0] is None:
            raise Wrong(
                f"{where}: a loss of yours does not lead back to the weights, so its backward "
                "reaches none of them, and DDP in the other processes waits for it. An empty "
                "losses.sum() is 0, too, and does lead there."
            )
    sums = [share.sum() for share in shares]
    mistakes = {
        "That is a mean of means: each process counts the same.": [s.mean() for s in shares],
        "DDP divides by the number of processes once more.": [s / everywhere for s in sums],
        "That is the sum over all samples, divided by the number of processes only.": sums,
    }
    wrong = {why: _as_ddp(losses, weight) for why, losses in mistakes.items()}
    expect_close(where, _as_ddp(yours, weight), 2 * weight / everywhere, wrong)
    why = "The mean of no sample is 0 / 0: take the sum."
    mean = torch.stack(yours).mean()
    expect_close(f"mean of the losses of {samples}", mean, (weight**2).mean(), why=why)


def _as_ddp(losses, weight):
    """The mean of the gradients of all processes."""
    gradients = [torch.autograd.grad(loss, weight, retain_graph=True)[0] for loss in losses]
    return torch.stack(gradients).mean(0)
