"""Messages of modules, optimizers and distributed training."""

from autograd_surprises.messages.message import Cause, Message

MODULES = (
    Message(
        "no-module-init",
        {
            "cannot assign parameters before Module.__init__() call": """
                class Layer(nn.Module):
                    def __init__(self):
                        self.weight = nn.Parameter(torch.ones(1))
                Layer()
            """,
        },
        "a Parameter is assigned before Module.__init__ has run, so the Module cannot register it",
        "call super().__init__() first",
        section="parameter.adds",
    ),
    Message(
        "assigned-parameter",
        {
            "cannot assign 'torch.FloatTensor' as parameter": """
                model = nn.Linear(2, 1)
                model.weight = model.weight * 2
            """,
        },
        "something that is no Parameter would replace a registered one",
        "use a local name in forward: w = self.w * 2; to set values, call self.w.copy_() in "
        "no_grad",
        section="parameter.adds",
        variants=("cannot assign '…' as parameter",),
    ),
    Message(
        "no-parameters",
        {
            "optimizer got an empty parameter list": """
                torch.optim.SGD(nn.Module().parameters(), lr=0.1)
            """,
        },
        "no parameter is registered: the weights are plain tensors, or they are in a plain list. "
        "Or all were filtered out, or the generator parameters() was used up before",
        "self.w = nn.Parameter(...), nn.ParameterList, nn.ModuleList; list(model.parameters())",
        section="parameter.fails",
        also=(Cause("scales in a list", "untrained.list"),),
    ),
    Message(
        "optimizer-of-result",
        {"can't optimize a non-leaf Tensor": "torch.optim.SGD([x * 0.1], lr=0.1)"},
        "the optimizer was given the result of an operation (requires_grad=True, then * 0.1)",
        "compute the start value first, then call .detach().requires_grad_()",
        section="parameter.fails",
        also=(Cause("a weight that starts small", "none.non-leaf"),),
    ),
    Message(
        "target-size",
        {
            "Using a target size … that is different to the input size": """
                nn.functional.mse_loss(torch.ones(4, 1), torch.ones(4))
            """,
        },
        "the loss broadcasts predictions and targets: with (n, 1) and (n,), each prediction is "
        "compared with each target",
        "give both the same shape: prediction.squeeze(1), or target.unsqueeze(1)",
        section="wrong.broadcast",
    ),
    Message(
        "ddp-unused",
        {
            "Expected to have finished reduction in the prior iteration": """
                class HalfUsed(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.used, self.unused = nn.Linear(2, 1), nn.Linear(2, 1)

                    def forward(self, x):
                        return self.used(x)

                import torch.distributed as dist
                dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
                model = nn.parallel.DistributedDataParallel(HalfUsed())
                model(x).sum().backward()
                model(x)
            """,
        },
        "DistributedDataParallel waited for the gradient of a parameter that the loss did not use",
        "use every parameter, or find_unused_parameters=True; explain(loss, model) lists them",
        section="processes.unused",
    ),
    Message(
        "no-process-group",
        {
            "Default process group has not been initialized": """
                nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
            """,
        },
        "this process does not know the others that it should average gradients with",
        "start the script with torchrun, and call torch.distributed.init_process_group() in it",
    ),
    Message(
        "non-full-hook",
        {
            "Using a non-full backward hook when the forward contains multiple autograd Nodes": """
                class Layer(nn.Module):
                    def forward(self, x):
                        return torch.tanh(3 * x)
                layer = Layer()
                layer.register_backward_hook(lambda *seen: None)
                layer(x)
            """,
        },
        "a hook of the older kind is attached to the last operation of a module, so it gets "
        "the gradient of another tensor than the input",
        "module.register_full_backward_hook(hook)",
        section="hooks.layer",
    ),
)
