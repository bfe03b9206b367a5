"""The gradient or the loss is NaN or infinite.

Each function follows the thread that it cites; the model around the line is small. Slugs that no
rule has yet: "target-too-long" (a label needs more steps than the input has),
"zero-times-infinity" (the product is where NaN is born, its factors are right) and "nan-target"
(the data holds NaN on purpose, and a mask of 0 and 1 does not remove it).
"""

import torch
from torch import nn
from torch.nn import functional as F

from cases.case import Step, case

END = {"bos_token_id": 1, "eos_token_id": 2}


def tiny_bert(**more):
    import transformers as tf

    return tf.BertConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        **more,
    )


@case(
    library="torch",
    source="https://github.com/pytorch/pytorch/issues/41508",
    cause="empty-softmax",
)
def attention_to_nobody():
    class LocalAttention(nn.Module):
        """Each position sees itself and the one before it."""

        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(50, 16)
            self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
            self.head = nn.Linear(16, 4)

        def forward(self, ids, padding):
            x = self.embed(ids)
            far = torch.ones(6, 6, dtype=torch.bool).triu(1) | torch.ones(6, 6).tril(-2).bool()
            x, _ = self.attention(x, x, x, key_padding_mask=padding, attn_mask=far)  #!
            return self.head(x)

    model = LocalAttention()
    ids, labels = torch.randint(50, (3, 6)), torch.randint(4, (3, 6))
    padding = torch.arange(6) >= torch.tensor([[6], [6], [3]])

    def compute():
        scores = model(ids, padding)
        return F.cross_entropy(scores[~padding], labels[~padding])

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-3))


@case(
    library="lightning",
    source="https://github.com/pytorch/pytorch/issues/68425",
    cause=("masked-too-late", "overflow"),
)
def where_does_not_protect():
    from lightning import LightningModule

    class Counts(LightningModule):
        """The rate of a Poisson distribution, positive by elu(x) + 1."""

        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
            nn.init.constant_(self.layers[-1].bias, 120.0)  # the mean of the counts

        def forward(self, x):
            x = self.layers(x).squeeze(-1)
            return torch.where(x <= 0, torch.exp(x), 1 + x)  #!

        def training_step(self, batch, _):
            x, count = batch
            return F.poisson_nll_loss(self(x), count, log_input=False)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 1e-3)

    model = Counts()
    batch = torch.rand(16, 6), torch.poisson(torch.full((16,), 120.0))
    return Step(model, lambda: model.training_step(batch, 0), model.configure_optimizers())


@case(
    library="stable_baselines3",
    source="https://github.com/DLR-RM/stable-baselines3/issues/325",
    cause="forward-nonfinite",
)
def one_transition_left():
    import gymnasium as gym
    from stable_baselines3.common.policies import ActorCriticPolicy

    space = gym.spaces.Box(-1.0, 1.0, (4,)), gym.spaces.Discrete(2)
    policy = ActorCriticPolicy(*space, lambda _: 3e-4)
    states, actions, old = torch.rand(65, 4), torch.randint(2, (65,)), torch.full((65,), -0.7)
    gains, returns = torch.randn(65), torch.randn(65)

    def compute():
        batch = slice(64, 65)  # a buffer of 65, in batches of 64
        gain = gains[batch]
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)  #!
        values, log_prob, entropy = policy.evaluate_actions(states[batch], actions[batch])
        ratio = torch.exp(log_prob - old[batch])
        policy_loss = -torch.min(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean()
        return policy_loss + 0.5 * F.mse_loss(values.flatten(), returns[batch])

    return Step(policy, compute, policy.optimizer)


@case(
    library="torch",
    source="https://github.com/meijieru/crnn.pytorch/issues/235",
    cause="target-too-long",
)
def label_longer_than_the_image():
    class CRNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(
                nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4),
                nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d((1, None)),
            )  # fmt: skip
            self.rnn = nn.LSTM(32, 32, bidirectional=True)
            self.out = nn.Linear(64, 27)

        def forward(self, image):
            columns = self.cnn(image).squeeze(2).permute(2, 0, 1)
            return self.out(self.rnn(columns)[0]).log_softmax(-1)

    model = CRNN()
    image, text = torch.rand(3, 1, 32, 40), torch.randint(1, 27, (3, 14))
    letters = torch.tensor([4, 6, 14])

    def compute():
        log_p = model(image)
        columns = torch.full((3,), len(log_p))
        return F.ctc_loss(log_p, text, columns, letters)  #!

    return Step(model, compute, torch.optim.RMSprop(model.parameters(), 1e-3))


@case(
    library="torchvision",
    source="https://github.com/pytorch/pytorch/issues/61810",
    cause="infinite-derivative",
)
def rotation_by_nothing():
    from torchvision.models import resnet18

    model = resnet18(num_classes=6)
    nn.init.zeros_(model.fc.weight)
    model.fc.bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))  # it starts at the identity
    image, true = torch.rand(3, 3, 64, 64), torch.eye(3).repeat(3, 1, 1)
    spin = torch.randn(2, 3, 3)
    true[1:] = torch.linalg.matrix_exp(spin - spin.mT)

    def rotation(six):
        x, y = F.normalize(six[:, :3], dim=-1), six[:, 3:]
        y = F.normalize(y - (x * y).sum(-1, keepdim=True) * x, dim=-1)
        return torch.stack([x, y, torch.linalg.cross(x, y)], -1)

    def compute():
        difference = rotation(model(image)) @ true.mT
        cosine = (difference.diagonal(dim1=1, dim2=2).sum(-1) - 1) / 2
        return torch.acos(cosine.clamp(-1, 1)).mean()  #!

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-4))


@case(
    library="torch",
    source="https://github.com/pytorch/pytorch/issues/19126",
    cause="division-by-zero",
)
def weight_norm_of_zeros():
    class Coupling(nn.Module):
        """An affine coupling of a flow, which starts as the identity."""

        def __init__(self):
            super().__init__()
            self.first = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 16, 3, padding=1))
            last = nn.Conv1d(16, 8, 1)
            nn.init.zeros_(last.weight)  #!
            nn.init.zeros_(last.bias)
            self.last = nn.utils.parametrizations.weight_norm(last)  #!

        def forward(self, x):
            kept, changed = x.chunk(2, 1)
            log_scale, shift = self.last(F.relu(self.first(kept))).chunk(2, 1)  #!
            return torch.cat([kept, changed * log_scale.exp() + shift], 1), log_scale.sum()

    model, x = Coupling(), torch.randn(2, 8, 20)

    def compute():
        z, log_det = model(x)
        return (0.5 * z.square().sum() - log_det) / len(x)

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-4))


@case(
    library="torchvision",
    source="https://github.com/kuangliu/torchcv/issues/35",
    cause=("division-by-zero", "empty-selection"),  # the loss is NaN, the gradient is 0
)
def no_object_in_the_batch():
    from torchvision.models import resnet18

    class SSD(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Sequential(*list(resnet18().children())[:-2])
            self.box, self.kind = nn.Conv2d(512, 4, 1), nn.Conv2d(512, 6, 1)

        def forward(self, image):
            x = self.backbone(image)
            return self.box(x).flatten(2).mT, self.kind(x).flatten(2).mT

    model = SSD()
    image, boxes = torch.rand(2, 3, 96, 96), torch.zeros(2, 9, 4)
    kinds = torch.zeros(2, 9, dtype=torch.long)  # background everywhere

    def compute():
        box, kind = model(image)
        positive = kinds > 0
        count = positive.sum()
        box_loss = F.smooth_l1_loss(box[positive], boxes[positive], reduction="sum")
        kind_loss = F.cross_entropy(kind.mT, kinds, reduction="none")
        hardest = kind_loss.flatten().argsort(descending=True)[: 3 * count]
        kind_loss = kind_loss[positive].sum() + kind_loss.flatten()[hardest].sum()
        return (box_loss + kind_loss) / count  #!

    return Step(model, compute, torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9))


@case(
    library="transformers",
    source="https://github.com/huggingface/trl/pull/7251",
    cause=("zero-times-infinity", "forward-nonfinite"),
)
def entropy_of_masked_logits():
    import transformers as tf

    config = tf.GPT2Config(vocab_size=60, n_positions=32, n_embd=32, n_layer=2, n_head=2, **END)
    model, ids = tf.GPT2LMHeadModel(config), torch.randint(50, (2, 12))
    gain = torch.randn(2, 1)

    def compute():
        logits = model(ids).logits[:, :-1]
        logits[..., 50:] = -torch.inf  # tokens that are reserved
        log_p = logits.log_softmax(-1)
        entropy = -(log_p.exp() * log_p).sum(-1)  #!
        chosen = log_p.gather(-1, ids[:, 1:, None]).squeeze(-1)
        return -(gain * chosen).mean() - 0.01 * entropy.mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), 1e-5))


@case(
    library="timm",
    source="https://github.com/HobbitLong/SupContrast/pull/142",
    cause="division-by-zero",
)
def class_with_one_image():
    import timm

    model = timm.create_model("test_resnet", num_classes=32)
    image, label = torch.rand(8, 3, 64, 64), torch.tensor([0, 0, 0, 1, 1, 2, 3, 3])

    def contrast(z, label, temperature=0.07):
        logits = z @ z.T / temperature
        logits = logits - logits.max(1, keepdim=True).values.detach()
        other = 1 - torch.eye(len(z))
        same = (label[:, None] == label).float() * other
        log_p = logits - (logits.exp() * other).sum(1, keepdim=True).log()
        return -((same * log_p).sum(1) / same.sum(1)).mean()  #!

    def compute():
        return contrast(F.normalize(model(image), dim=-1), label)

    return Step(model, compute, torch.optim.SGD(model.parameters(), 0.05, momentum=0.9))


@case(
    library="torch",
    source="https://github.com/allenai/allennlp/issues/2797",
    cause="infinite-derivative",
)
def log_of_a_softmax():
    class Entailment(nn.Module):
        """Attends from each sentence to the other, compares, and sums over the words."""

        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(200, 50)
            self.compare = nn.Sequential(nn.Linear(100, 50), nn.ReLU())
            self.label = nn.Linear(100, 5)

        def side(self, one, other):
            aligned = (one @ other.mT / 50**0.5).softmax(-1) @ other
            return self.compare(torch.cat([one, aligned], -1)).sum(1)

        def forward(self, premise, hypothesis):
            a, b = self.words(premise), self.words(hypothesis)
            return self.label(torch.cat([self.side(a, b), self.side(b, a)], -1))

    model = Entailment()
    nn.init.normal_(model.words.weight, std=25.0)  # pretrained vectors, not normalised
    premise, hypothesis = torch.randint(200, (4, 30)), torch.randint(200, (4, 20))
    labels = F.one_hot(torch.tensor([0, 1, 2, 1]), 5).float()

    def compute():
        p = model(premise, hypothesis).softmax(-1)
        return (-torch.log(p) * labels).sum()  #!

    return Step(model, compute, torch.optim.Adagrad(model.parameters(), 0.05))
