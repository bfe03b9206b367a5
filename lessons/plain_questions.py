"""Plain questions about gradients: what people see where torch prints no message."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_surprises.messages import Cause


@dataclass(frozen=True)
class Question:
    """A question without a message of torch, and the sections that answer it.

    name    a slug such as "grad-is-none"
    asked   the question as the index lists it, then other words for it, which only the search reads
    answer  the answer in a sentence or two
    causes  what it may be, the most likely one first

    >>> QUESTIONS[0].asked[0]
    'The gradient is `None`: there is no `.grad` after `backward()`'
    """

    name: str
    asked: tuple[str, ...]
    answer: str
    causes: tuple[Cause, ...]


QUESTIONS = (
    Question(
        "grad-is-none",
        (
            "The gradient is `None`: there is no `.grad` after `backward()`",
            "gradient is none, no gradient, grad is missing, not populated, not saved",
            "grad of a view, a slice, a section, an intermediate variable",
        ),
        "None means that backward stored nothing here. Either the tensor is not a leaf, or no "
        "graph leads from the loss to it.",
        (
            Cause(
                "the tensor is not a leaf",
                "leaf.which",
            ),
            Cause(
                ".to(), .cuda() or .double() made a new tensor",
                "leaf.moved",
            ),
            Cause("detach() cuts the graph", "none.detached"),
            Cause(
                "it is multiplied after requires_grad=True",
                "none.non-leaf",
            ),
            Cause(".item() or NumPy", "none.left-torch"),
            Cause("no_grad", "none.no-grad"),
            Cause("forward does not use it", "none.unused"),
            Cause("it is frozen", "none.frozen"),
            Cause(
                "a Parameter is made in forward",
                "parameter.fails",
            ),
        ),
    ),
    Question(
        "gradient-is-zero",
        (
            "The gradient is zero everywhere",
            "gradients are all 0, no gradient, weights not updated, network stops learning",
            "the loss is constant, stays the same",
        ),
        "A path leads to the tensor, but on it the gradient is multiplied by 0, cancels, or is "
        "rounded to 0.",
        (
            Cause("round, floor or sign", "round.weight"),
            Cause(
                "everything is outside a clamp",
                "zero.clamped",
            ),
            Cause("dead relu units", "zero.dead-relu"),
            Cause(
                "zero initialization: two layers start at 0",
                "zero.start",
            ),
            Cause("a softmax that is constant", "zero.softmax"),
            Cause("saturated tanh or sigmoid units", "zero.saturated"),
        ),
    ),
    Question(
        "gradient-is-nan",
        (
            "The gradient is NaN or inf",
            "nan gradients, loss becomes nan, infinite gradient, exploding",
        ),
        "Most often a value was NaN or infinite in the forward pass, or backward met an infinite "
        "slope: 0 times that is NaN.",
        (
            Cause("sqrt or a norm at zero", "nan.distance"),
            Cause(
                "torch.where hides the value, not the gradient, of the inactive branch",
                "nan.where",
            ),
            Cause("exp overflows", "nan.overflow"),
            Cause(
                "log of a probability of 0",
                "nan.entropy",
            ),
            Cause(
                "attention with a mask: a softmax over -inf",
                "nan.attention",
            ),
            Cause("one bad batch", "doctor.step"),
        ),
    ),
    Question(
        "weight-never-moves",
        (
            "The loss falls, but one weight never moves",
            "parameter not updated, not updating, does not train, not registered, not in "
            "model.parameters(), state_dict is empty, optimizer does not change the weights",
        ),
        "Its gradient may be fine. The optimizer moves only the tensors that it was given.",
        (
            Cause(
                "a Parameter that the Module does not register: .to(device), a list, forward",
                "parameter.fails",
            ),
            Cause("parameters in a plain list", "untrained.list"),
            Cause(
                "a layer replaced after the optimizer was built",
                "untrained.later",
            ),
            Cause("a frozen layer", "none.frozen"),
        ),
    ),
    Question(
        "what-is-gradient",
        (
            "What is the `gradient` in `backward(gradient)`?",
            "gradient argument, grad_tensors, grad_outputs, vector, vector-Jacobian product, vjp",
        ),
        "A weight for each element of the output: y.backward(v) computes the gradient of the "
        "number (v * y).sum().",
        (
            Cause(
                "what backward(v) computes",
                "backward.computes",
            ),
            Cause("which shape it has", "backward.shape"),
        ),
    ),
    Question(
        "scalar-loss",
        (
            "Why does a scalar loss need no `gradient`, and what would ones mean?",
            "loss.grad is 1, constant, backward(torch.ones_like(y)), implicitly created",
        ),
        "A loss is one number, and its weight is 1. With several outputs, weights of one compute "
        "the gradient of their sum.",
        (
            Cause(
                "the weight 1, and weights of one",
                "backward.number",
            ),
        ),
    ),
    Question(
        "covered-up",
        (
            "Does `loss.requires_grad = True` repair anything?",
            "set requires_grad of the loss, loss.requires_grad_(True), no error but the loss does "
            "not decrease",
        ),
        "No. It hides that the loss has no graph: backward runs and reaches nothing.",
        (Cause("a cut that is covered up", "none.covered-up"),),
    ),
    Question(
        "moved-tensor",
        (
            "`.grad` is `None` after `.to(device)`, `.cuda()` or `.to(dtype)`",
            "gradient disappears on the GPU, gradients gone when moving to cuda, works on CPU",
        ),
        "The result of .to() is a new tensor with a history. The gradient is stored in the leaf "
        "from which it was made.",
        (
            Cause("a tensor", "leaf.moved"),
            Cause("a Parameter", "parameter.fails"),
        ),
    ),
    Question(
        "gradient-grows",
        (
            "`.grad` grows from step to step",
            "why zero_grad, gradients accumulate, add up, are summed over iterations",
        ),
        "backward() adds to .grad. Call optimizer.zero_grad() before each backward.",
        (
            Cause("backward adds", "backward.again"),
            Cause("zero_grad was forgotten", "wrong.accumulated"),
        ),
    ),
    Question(
        "memory-grows",
        (
            "The memory grows from step to step",
            "out of memory, RAM keeps increasing, memory leak, memory issues, total_loss += loss",
        ),
        "A tensor that you keep, such as a loss in a list, keeps its whole graph. Keep "
        "loss.item() instead.",
        (
            Cause(
                "what a graph keeps alive",
                "backward.again",
            ),
            Cause(".grad with a graph", "second.history"),
        ),
    ),
    Question(
        "retain-graph",
        (
            "What does `retain_graph=True` do?",
            "retain graph, keep the graph, call backward twice, backward a second time",
        ),
        "It keeps what the graph has saved, so that backward can run through it again. It records "
        "nothing new: for that there is create_graph.",
        (
            Cause("what it costs", "backward.again"),
            Cause(
                "two losses that share a part",
                "error.twice",
            ),
        ),
    ),
    Question(
        "inner-gradient",
        (
            "How do I get the gradient of a hidden layer, or of an intermediate tensor?",
            "gradient between layers, in the middle of nn.Sequential, "
            "retain_grad, hook, register_full_backward_hook",
        ),
        "Call retain_grad() on the tensor before backward, or register a hook on the tensor or "
        "on the layer.",
        (
            Cause("a tensor", "leaf.which"),
            Cause("a layer in nn.Sequential", "zero.sequential"),
        ),
    ),
    Question(
        "backward-or-grad",
        (
            "`backward()` or `torch.autograd.grad`?",
            "difference between them, grad_outputs, meaning, allow_unused, returns the gradient",
        ),
        "backward() adds to the .grad of all leaves. torch.autograd.grad returns the gradients "
        "that you ask for, with weights called grad_outputs.",
        (Cause("both, side by side", "backward.grad"),),
    ),
    Question(
        "jacobian",
        (
            "How do I get the whole Jacobian?",
            "Jacobian matrix, Jacobian-vector product, vector-Jacobian product, jacrev, jvp",
        ),
        "One backward returns one weighted sum of its rows. torch.func.jacrev, or "
        "is_grads_batched=True, returns all of them.",
        (
            Cause(
                "its rows, and why backward needs a vector",
                "backward.computes",
            ),
            Cause("all rows at once", "backward.grad"),
        ),
    ),
    Question(
        "several-losses",
        (
            "Several losses: one backward, or one for each?",
            "multiple losses, sum of losses, total loss, backpropagate separately",
        ),
        "Add them and call backward once. With one backward for each, the gradients are added as "
        "well, but a graph that they share is freed by the first.",
        (
            Cause("a shared part is freed", "error.twice"),
            Cause("weights for the losses", "backward.weights"),
        ),
    ),
    Question(
        "hidden-state",
        (
            "A hidden state is carried from step to step",
            "h_state, recurrent network, RNN, LSTM, h_state.data, detach the hidden state",
        ),
        "It brings the graph of the earlier step along, which backward has freed. detach() keeps "
        "the numbers and drops their history.",
        (
            Cause("which line used it again", "error.state"),
            Cause(
                "two cures, two gradients",
                "backward.again",
            ),
        ),
    ),
    Question(
        "kinds-of-tensors",
        (
            "Parameter, Variable, buffer or plain tensor?",
            "nn.Parameter versus requires_grad=True, register_buffer, torch.autograd.Variable",
            "what is the difference",
        ),
        "All that require a gradient can have one. A Module registers, saves and moves Parameters "
        "and buffers, and hands the Parameters to the optimizer.",
        (
            Cause("what a Parameter adds", "parameter.adds"),
            Cause("what Variable was", "leaf.variable"),
        ),
    ),
    Question(
        "leaf",
        (
            "What is a leaf?",
            "is_leaf, leaf tensor, leaf or non-leaf node, set requires_grad, inplace "
            "operations change is_leaf",
        ),
        "A tensor without a recorded history. By default, backward stores a .grad in leaves only. "
        "A leaf that requires a gradient cannot be changed in place while autograd records.",
        (
            Cause(
                "which tensors are leaves",
                "leaf.which",
            ),
            Cause("a leaf changed in place", "leaf.variable"),
        ),
    ),
    Question(
        "not-differentiable",
        (
            "Can I differentiate through argmax, a comparison or an index?",
            "backprop through argmax, idx, indices, not differentiable, discrete, hard decision",
        ),
        "Not through the index or the bool, which has no slope: use the probabilities. The values "
        "that max, topk and sort return do pass a gradient to the numbers they chose.",
        (
            Cause("argmax", "none.argmax"),
            Cause("an operation without a derivative", "round.no-derivative"),
        ),
    ),
    Question(
        "codebook",
        (
            "The codes of a VQ-VAE do not learn, or its encoder does not",
            "vector quantization, codebook embedding weight is not updated, no gradients, "
            "straight-through, reconstruction loss, encoder",
        ),
        "Straight-through gives the gradient of the code to the encoder, and the codes get none. "
        "They need a loss of their own, measured on the code itself.",
        (
            Cause(
                "the gradient passes the codes",
                "codebook.straight-through",
            ),
            Cause("a loss of y", "codebook.loss-of-y"),
        ),
    ),
    Question(
        "commitment",
        (
            "Which loss of a VQ-VAE does beta weigh?",
            "codebook loss, commitment loss, cost, beta term applied to the wrong one, swapped",
        ),
        "The commitment loss, which moves the encoder's output to its code. With the weight at the "
        "codebook loss the value is the same, and the gradients are not.",
        (
            Cause("what each loss moves", "codebook.losses"),
            Cause(
                "beta weighs the other loss",
                "codebook.same-loss",
            ),
        ),
    ),
    Question(
        "codebook-collapse",
        (
            "Few codes of a codebook are ever used",
            "codebook collapse, index collapse, dead codes, low perplexity, utilization, VQ-VAE",
            "random restart, revive, reset unused codes",
        ),
        "A code that no vector chooses gets a gradient of exactly 0, so nothing draws it to the "
        "vectors. Move it to a vector of the batch.",
        (
            Cause("why they die", "codebook.dead"),
            Cause("a restart, or a better start", "codebook.revive"),
            Cause("not by beta", "codebook.beta"),
        ),
    ),
    Question(
        "trained-softly",
        (
            "It works with soft weights, but not with a hard choice",
            "softmax or soft top-k in training, hard at inference, gap between training and test, "
            "Gumbel-softmax, temperature",
        ),
        "A network that was trained with a mixture has never had to choose. Train it once more "
        "with the final choice, or train with choices from the start: straight-through, or "
        "hard=True.",
        (
            Cause("a mixture in training", "choices.softmax-saw"),
            Cause("several ways compared", "choices.patches"),
        ),
    ),
    Question(
        "version-changed",
        (
            "The gradient changed when I updated torch",
            "clamp at its bounds, border, boundary, clamp_min, other versions, regression",
        ),
        "At a kink the gradient is a convention. That of torch.clamp at its bounds changed with "
        "torch 2.14.",
        (
            Cause("clamp", "clamp.bound"),
            Cause("every other operation", "atlas.changes"),
        ),
    ),
    Question(
        "kink",
        (
            "Which gradient does relu, max or abs have at its kink?",
            "relu at 0, maximum, clamp_min, minimum, subgradient, convention, inconsistent, tie "
            "point, equal elements, an elementwise maximum",
        ),
        "Any number between the two slopes is valid. Each operation has its own convention, and "
        "at a tie several inputs may share the gradient.",
        (
            Cause(
                "the same function, another choice",
                "round.defaults",
            ),
            Cause("equal inputs", "atlas.ties"),
            Cause("all operations", "atlas.kinks"),
        ),
    ),
    Question(
        "staircase",
        (
            "What is the gradient of round, floor or sign?",
            "torch.round, torch.sign, torch.floor, backward of sign, step function, binarize",
        ),
        "It is 0. Between the jumps that is the true slope, and useless for training.",
        (
            Cause("eight functions", "round.defaults"),
            Cause("a rounded weight", "round.weight"),
        ),
    ),
    Question(
        "outside-a-range",
        ("The gradient is zero outside a range", "clamp, clip, hardtanh, out of bounds, stuck"),
        "A clamp is flat there, so nothing brings a value back.",
        (
            Cause("a weight outside", "clamp.gradient"),
            Cause("all inputs outside", "zero.clamped"),
        ),
    ),
    Question(
        "straight-through",
        (
            "How do I write a straight-through estimator?",
            "STE, another gradient, override backward, custom gradient, surrogate, x + (f(x) - "
            "x).detach()",
        ),
        "As a Function that returns grad_output unchanged, or in one line with detach().",
        (
            Cause("a Function", "function.first"),
            Cause("one line", "function.detach-trick"),
        ),
    ),
    Question(
        "own-backward-wrong",
        (
            "My own backward trains, but wrongly",
            "custom autograd Function, wrong gradient, check my backward, gradcheck",
        ),
        "A backward is linear in grad_output and must not write into it. gradcheck compares it "
        "with the slope.",
        (
            Cause("two bugs", "function.two-bugs"),
            Cause("how to check it", "function.gradcheck"),
            Cause(
                "it writes into grad_output",
                "wrong.changed",
            ),
        ),
    ),
    Question(
        "second-derivative",
        (
            "How do I differentiate a gradient?",
            "second derivative, gradient of the gradient, higher order, create_graph",
        ),
        "torch.autograd.grad(y, x, create_graph=True) returns a gradient with a history.",
        (
            Cause("create_graph", "second.history"),
            Cause("a Hessian", "second.hessian"),
        ),
    ),
    Question(
        "hessian",
        (
            "How do I compute a Hessian?",
            "Hessian of a network, Hessian-vector product, hvp, curvature, Newton's method",
        ),
        "torch.func.hessian(f)(x) for few numbers. For many, differentiate the gradient along a "
        "vector: that never builds the matrix.",
        (
            Cause("of a function", "second.hessian"),
            Cause(
                "of your own Function",
                "card.hessian",
            ),
        ),
    ),
    Question(
        "penalty",
        (
            "A penalty on a gradient trains nothing",
            "gradient penalty, WGAN, a gradient without a graph, not connected, retain_graph",
        ),
        "The gradient in the penalty needs create_graph=True, or it is a constant to autograd.",
        (Cause("a gradient in the loss", "second.penalty"),),
    ),
    Question(
        "second-derivative-wrong",
        (
            "A second derivative of my own Function is wrong",
            "double backward, intermediate results saved, ctx attribute, gradgradcheck",
        ),
        "To autograd, an intermediate that forward saves is a constant. Save the input, or "
        "return the intermediate.",
        (Cause("saved intermediates", "second.function"),),
    ),
    Question(
        "function-under-transforms",
        (
            "My Function trains, but fails in `torch.func`, `torch.compile` or mixed precision",
            "setup_context, vmap, hessian, jvp, functorch, autocast, amp",
        ),
        "Each part of PyTorch needs something of a Function: setup_context, a vmap rule, a jvp.",
        (
            Cause("the report card", "card"),
            Cause(
                "a Hessian, and a batch of them",
                "card.hessian",
            ),
            Cause("compiled, and silently 0", "card.compiled"),
        ),
    ),
    Question(
        "mixed-precision",
        (
            "My own Function fails under autocast",
            "mixed precision, amp, half, float16, bfloat16, custom op, custom_fwd",
        ),
        "forward runs inside autocast, backward outside. Bring what you saved and grad_output to "
        "one dtype.",
        (Cause("two dtypes meet", "card.mixed-precision"),),
    ),
    Question(
        "accumulation",
        (
            "Gradient accumulation trains worse than one large batch",
            "divide the loss by gradient_accumulation_steps, micro batches, normalize, average, "
            "tokens, sequences of other lengths, loss scaling, results differ",
        ),
        "A mean of means is not the mean of all. Add the losses, and divide by what all batches "
        "count together.",
        (
            Cause("unequal lengths", "batches"),
            Cause("another divisor", "batches.divisors"),
            Cause("does it matter?", "batches.average"),
            Cause(
                "class weights, padding",
                "batches.equal",
            ),
            Cause("batch norm", "batches.unrepaired"),
        ),
    ),
    Question(
        "clipping",
        (
            "What does clipping do to the gradient?",
            "gradient clipping, clip_grad_norm_, clip_grad_value_, max_norm, exploding gradients, "
            "grad norm above the limit, higher than, direction, unscaling, GradScaler",
        ),
        "Clipping by norm keeps the direction, clipping by value turns it. With a scaler, unscale "
        "first.",
        (
            Cause("by norm, by value", "clipping"),
            Cause("before unscaling", "half.unscale"),
            Cause("each weight by itself", "clipping.length"),
            Cause("NaN after clipping", "clipping.infinite"),
        ),
    ),
    Question(
        "half-precision",
        (
            "A step in float16 is skipped, or its gradient is 0 or infinite",
            "underflow, overflow of gradients, skipping a step, loss scale is reduced, GradScaler, "
            "amp, half, fp16, bfloat16, mixed precision",
        ),
        "float16 rounds numbers below 2.9e-8 to 0, and is infinite at 65520. Scale the loss; some "
        "skipped steps are normal.",
        (
            Cause("too small", "half"),
            Cause("skipped steps", "half.skipped"),
            Cause(
                "clipping with a scaler",
                "half.unscale",
            ),
            Cause("bfloat16", "half.bfloat16"),
        ),
    ),
    Question(
        "checkpointing",
        (
            "A checkpointed layer gets no gradient, or is it another one?",
            "gradient checkpointing, activation checkpoint, use_reentrant, LoRA, adapter, frozen, "
            "forward pass twice, recompute, dropout, same output",
        ),
        "A checkpoint gives the same gradients, if the block does the same again. The reentrant "
        "kind records nothing without an input that requires a gradient.",
        (
            Cause("adapters, frozen layers", "checkpoint.frozen"),
            Cause("dropout", "checkpoint.dropout"),
            Cause("memory", "checkpoint"),
            Cause("a cache inside", "checkpoint.other"),
        ),
    ),
    Question(
        "too-many-pairs",
        (
            "The loss falls, but the model learns the mean",
            "shapes (n, 1) and (n,), target size different from input size, broadcasting, mse_loss "
            "warning",
        ),
        "Each prediction was compared with each target. Give both the same shape.",
        (Cause("a loss over too many pairs", "wrong.broadcast"),),
    ),
    Question(
        "vanishing",
        (
            "The gradient vanishes from layer to layer",
            "vanishing gradient, tiny gradients in the first layers, saturation, tanh, sigmoid",
        ),
        "Each layer multiplies it by its slopes. Units that are flat stop it.",
        (Cause("eight layers", "zero.saturated"),),
    ),
    Question(
        "wrong-after-a-while",
        ("Everything is well at first, and goes wrong after some steps", "breaks later, diverges"),
        "watch(model, optimizer) reports the step in which something turns bad.",
        (Cause("the step that breaks it", "doctor.step"),),
    ),
    Question(
        "which-line",
        (
            "I know the symptom, but not which line causes it",
            "debug gradients, find the bug",
            "the loss does not go down, the loss does not decrease",
            "the model does not learn, does not train",
        ),
        "Run the forward pass inside trace(), and ask the doctor about the loss.",
        (
            Cause("a first patient", "none.detached"),
            Cause("a real model", "doctor.model"),
            Cause("a script", "doctor.command"),
        ),
    ),
    Question(
        "inplace-by-hand",
        (
            "How do I read an in-place error without a helper?",
            "inplace operation, is at version, expected version, anomaly detection, "
            "set_detect_anomaly, version counter",
        ),
        "The message names the operation that saved the value and counts its changes. Anomaly "
        "mode names the line.",
        (Cause("versions and anomaly mode", "error.by-hand"),),
    ),
    Question(
        "nan-value-finite-gradient",
        ("The loss is NaN, but the gradient is not", "nan value, finite gradient"),
        "Some operations return a number as the gradient where their value is NaN.",
        (Cause("a number for NaN", "atlas.nan"),),
    ),
    Question(
        "default-gradient",
        ("What is the default gradient of an operation?", "derivative of a torch function"),
        "The atlas has measured it, at kinks, jumps, infinities and NaN.",
        (Cause("look one up", "atlas.look-up"),),
    ),
    Question(
        "which-surrogate",
        ("Which surrogate gradient, and how wide?", "spiking network, sigmoid, triangle, width"),
        "The width matters more than the shape: too narrow starves, too wide is wrong.",
        (
            Cause("a ball on the stairs", "surrogate.stairs"),
            Cause("bias and variance", "surrogate.wrong"),
        ),
    ),
    Question(
        "quantized",
        (
            "A quantized network learns nothing, or not well",
            "quantization-aware training, fake quantize, int4, few bits, learned step size",
        ),
        "With round's own gradient nothing before the last rounding learns.",
        (
            Cause("the default gradient", "quantize.default"),
            Cause("the last bin", "quantize.last-bin"),
            Cause("the scale", "quantize.scale"),
        ),
    ),
    Question(
        "eval-mode",
        (
            "Does `model.eval()` switch gradients off?",
            "net.eval and torch.no_grad, inference_mode, evaluation, combine both, difference",
        ),
        "No. It changes what dropout and batch norm compute. no_grad switches recording off.",
        (
            Cause(
                "who gets a gradient in each",
                "freezing.ways",
            ),
        ),
    ),
    Question(
        "frozen-layer",
        (
            "A frozen layer is updated, despite `requires_grad=False`",
            "freeze, set requires_grad of parameters to False, why still updated, not frozen",
        ),
        "Set requires_grad of its parameters, not of the module; clear their .grad; and put a "
        "frozen batch norm into eval mode.",
        (
            Cause(
                "the module has no requires_grad",
                "freezing.module",
            ),
            Cause("a batch norm", "freezing.moves"),
            Cause(
                "an old .grad and momentum",
                "freezing.middle",
            ),
            Cause("which way to freeze it", "freezing.ways"),
        ),
    ),
    Question(
        "batch-norm",
        (
            "A batch norm without gradients still changes",
            "BatchNorm running_mean, running_var, statistics, BN layers, freeze",
        ),
        "Its running mean and variance are buffers, which the forward pass updates. eval() stops "
        "that, until the next train().",
        (Cause("a frozen batch norm", "freezing.moves"),),
    ),
    Question(
        "which-copy",
        (
            "`detach()`, `.data`, `clone()` or `deepcopy`?",
            "copy a tensor, difference between detach and data, shares memory, safe to change",
        ),
        "Only clone() lets a gradient back. detach() and .data share the memory, and torch does "
        "not notice a write into .data.",
        (
            Cause("all copies in a table", "freezing.copies"),
            Cause(
                "a wrong gradient, silently",
                "freezing.write",
            ),
        ),
    ),
    Question(
        "hooks",
        (
            "A hook fails, or gets another gradient than I expect",
            "register_hook, backward hook, grad_input, grad_output, inplace ReLU, feature map",
        ),
        "Use full backward hooks, and none before an in-place operation. A hook on a tensor gets "
        "the gradient of that tensor.",
        (
            Cause("a tensor", "hooks.tensor"),
            Cause("a layer, and the older hook", "hooks.layer"),
            Cause("an in-place relu", "hooks.in-place"),
        ),
    ),
    Question(
        "saliency-map",
        (
            "Which pixels does a network look at?",
            "Grad-CAM, class activation map, saliency, heat map is empty or black, HiResCAM",
        ),
        "Weight the feature maps by their gradient. The mean that Grad-CAM takes can say nothing.",
        (
            Cause(
                "Grad-CAM, and a test of it",
                "hooks.look",
            ),
        ),
    ),
    Question(
        "several-processes",
        (
            "Several GPUs or processes: are gradients summed or averaged?",
            "DDP, DistributedDataParallel, multi-GPU, all_reduce, world_size, average over ranks",
        ),
        "DistributedDataParallel takes the mean. If the shares differ in length, that is not the "
        "mean over all samples.",
        (
            Cause(
                "the mean of two gradients",
                "processes.ddp",
            ),
            Cause(
                "shares of unequal length",
                "processes.shares",
            ),
        ),
    ),
    Question(
        "no-sync",
        (
            "Where does `no_sync()` go when I accumulate gradients under DDP?",
            "gradient accumulation, synchronization, communication, no_sync context manager",
        ),
        "Around forward and backward: DDP decides in the forward pass whether it will exchange.",
        (Cause("exchanges, counted", "processes.no-sync"),),
    ),
)
