"""Messages of what stands between backward() and the next step: scaler, clipping, checkpoint."""

from autograd_surprises.messages.message import Cause, Message

CALLS = "half.scaler"
SCALER = "half.errors"
SKIPPED = "half.skipped"
ORDER = "half.unscale"
INFINITE = "clipping.infinite"
FROZEN = "checkpoint.frozen"
RECOMPUTED = "checkpoint.other"

TRAINING_STEPS = (
    Message(
        "nothing-to-unscale",
        {
            "No inf checks were recorded for this optimizer": """
                scaler = torch.amp.GradScaler("cpu")
                scaler.scale(x.sum()).backward()
                scaler.step(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1))
            """,
        },
        "none of the optimizer's parameters has a gradient: it trains the parameters of another "
        "model, they are frozen, or the loss has no path to them",
        "find out why each .grad is None; make the optimizer after the model is complete, moved "
        "and wrapped",
        section=SCALER,
        also=(Cause("why a .grad is None", "none"),),
    ),
    Message(
        "update-without-step",
        {
            "No inf checks were recorded prior to update": """
                scaler = torch.amp.GradScaler("cpu")
                scaler.scale(x.sum())
                scaler.update()
            """,
        },
        "scaler.update() ends a step, and since the last one no gradient was unscaled",
        "call scaler.step(optimizer) before scaler.update()",
        section=CALLS,
    ),
    Message(
        "unscaled-loss",
        {
            "but _scale is None": """
                scaler = torch.amp.GradScaler("cpu")
                scaler.step(torch.optim.SGD([x], lr=0.1))
            """,
        },
        "the scaler has not scaled any loss yet, so it has nothing to undo",
        "scaler.scale(loss).backward() instead of loss.backward()",
        section=CALLS,
    ),
    Message(
        "unscaled-twice",
        {
            "unscale_() has already been called on this optimizer since the last update()": """
                scaler = torch.amp.GradScaler("cpu")
                optimizer = torch.optim.SGD([x], lr=0.1)
                scaler.scale(x.sum()).backward()
                scaler.unscale_(optimizer)
                scaler.unscale_(optimizer)
            """,
        },
        "scaler.unscale_ divides the gradient by the scale, and may do so once for each step",
        "unscale once, after the last backward of the step; end each step with scaler.update(), "
        "also one that you skip",
        section=SCALER,
        also=(Cause("clipping needs it, once", ORDER),),
    ),
    Message(
        "scaler-not-updated",
        {
            "unscale_() is being called after step()": """
                scaler = torch.amp.GradScaler("cpu")
                optimizer = torch.optim.SGD([x], lr=0.1)
                scaler.scale(x.sum()).backward()
                scaler.step(optimizer)
                scaler.unscale_(optimizer)
            """,
            "step() has already been called since the last update()": """
                scaler = torch.amp.GradScaler("cpu")
                optimizer = torch.optim.SGD([x], lr=0.1)
                scaler.scale(x.sum()).backward()
                scaler.step(optimizer)
                scaler.step(optimizer)
            """,
        },
        "the step before has not been ended: scaler.update() is missing, or unscale_ comes after "
        "step",
        "for each step in this order: scale(loss).backward(), unscale_, clip, step, update",
        section=ORDER,
    ),
    Message(
        "half-weights",
        {
            "Attempting to unscale FP16 gradients": """
                scaler = torch.amp.GradScaler("cpu")
                half = torch.ones(2, dtype=torch.float16, requires_grad=True)
                scaler.scale(half.sum()).backward()
                scaler.unscale_(torch.optim.SGD([half], lr=0.1))
            """,
        },
        "the weights are in float16, and so are their gradients: small ones would become 0 when "
        "they are divided by the scale",
        "keep the weights that you train in float32: no model.half(); torch.autocast converts them "
        "for each operation",
        section=SCALER,
    ),
    Message(
        "schedule-before-step",
        {
            "Detected call of `lr_scheduler.step()` before `optimizer.step()`": """
                optimizer = torch.optim.SGD([x], lr=0.1)
                torch.optim.lr_scheduler.StepLR(optimizer, 1).step()
            """,
        },
        "the schedule made a step before the optimizer did: the calls are in the wrong order, "
        "or a GradScaler skipped that step",
        "optimizer.step() first; with a scaler, schedule.step() only if its scale has not fallen",
        section=SKIPPED,
    ),
    Message(
        "infinite-norm",
        {
            "is non-finite, so it cannot be clipped": """
                x.grad = torch.tensor([torch.inf, 1.0])
                nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)
            """,
        },
        "the norm of all gradients is infinite or NaN, and clipping would multiply each of them by "
        "0 or by NaN",
        "skip this step, and find where the number comes from: explain(loss, model)",
        section=INFINITE,
        also=(Cause("where NaN is born", "nan"),),
    ),
    Message(
        "reentrant-inputs",
        {
            "None of the inputs have requires_grad=True": """
                from torch.utils.checkpoint import checkpoint
                checkpoint(nn.Linear(2, 1), torch.ones(2), use_reentrant=True)
            """,
        },
        "a reentrant checkpoint records nothing unless one of its inputs requires a gradient, so "
        "the weights inside are never trained; data, and what a frozen layer makes of it, require "
        "none",
        "checkpoint(..., use_reentrant=False); or let the input require a gradient: "
        "x.requires_grad_(), model.enable_input_require_grads()",
        section=FROZEN,
    ),
    Message(
        "reentrant-or-not",
        {
            "use_reentrant parameter should be passed explicitly": """
                from torch.utils.checkpoint import checkpoint
                checkpoint(torch.exp, x)
            """,
        },
        "there are two kinds of checkpoint, and which one is the default is going to change",
        "checkpoint(..., use_reentrant=False)",
        section=FROZEN,
        variants=("please pass in use_reentrant=True or use_reentrant=False explicitly",),
    ),
    Message(
        "recomputed-differently",
        {
            "A different number of tensors was saved during the original forward and "
            "recomputation": """
                from torch.utils.checkpoint import checkpoint
                calls = []
                def block(v):
                    calls.append(1)
                    return v.exp().sin() if len(calls) == 1 else v.exp()
                checkpoint(block, x, use_reentrant=False).sum().backward()
            """,
            "Recomputed values for the following tensors have different metadata": """
                from torch.utils.checkpoint import checkpoint
                calls = []
                def block(v):
                    calls.append(1)
                    return v[: len(calls)].exp()
                checkpoint(block, x, use_reentrant=False).sum().backward()
            """,
        },
        "backward ran the checkpointed block again, and it did something else than the first time: "
        "it has a cache or a counter, or reads something that has changed since",
        "let the block depend on its inputs alone: compute what belongs to a step outside, and "
        "pass it in",
        section=RECOMPUTED,
    ),
)
