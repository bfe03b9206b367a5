"""autograd raises an error: in the forward pass, or in backward().

Each function follows the thread that it cites; the model around the line is small. A slug that no
rule has yet: "donated-buffer" (a compiled backward reuses the memory of what it saved, so it can
run once only).
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from cases.case import Step, case


@case(
    library="torchvision",
    source="https://github.com/pytorch/vision/issues/4164",
    cause=("view-in-place", "hooked-in-place"),  # the second says what made the view: the hook
)
def backward_hook_before_an_in_place_relu():
    from torchvision.models import DenseNet

    model = DenseNet(growth_rate=8, block_config=(2, 2), num_init_features=16, num_classes=5)
    gradients = []
    model.features.register_full_backward_hook(lambda m, i, o: gradients.append(o[0]))  #!
    image, label = torch.rand(2, 3, 64, 64), torch.tensor([1, 4])

    def compute():
        return F.cross_entropy(model(image), label)

    return Step(model, compute, torch.optim.SGD(model.parameters(), 0.1))


@case(
    library="torch",
    source="https://github.com/pytorch/pytorch/issues/39141",
    cause="overwritten",
)
def discriminator_steps_too_early():
    artist = nn.Sequential(nn.Linear(5, 128), nn.ReLU(), nn.Linear(128, 15))
    critic = nn.Sequential(nn.Linear(15, 128), nn.ReLU(), nn.Linear(128, 1), nn.Sigmoid())
    optimizer = torch.optim.Adam(artist.parameters(), 1e-4)
    critic_optimizer = torch.optim.Adam(critic.parameters(), 1e-4)
    paintings = torch.sin(torch.linspace(-1, 1, 15) * math.pi) + 0.02 * torch.randn(64, 15)

    def compute():
        ideas = torch.randn(64, 5)
        p_famous, p_newbie = critic(paintings), critic(artist(ideas))
        critic_loss = -(p_famous.log() + (1 - p_newbie).log()).mean()
        artist_loss = (1 - p_newbie).log().mean()
        critic_optimizer.zero_grad()
        critic_loss.backward(retain_graph=True)
        critic_optimizer.step()  #!
        optimizer.zero_grad()
        return artist_loss

    return Step(artist, compute, optimizer)


@case(
    library="snntorch",
    source="https://github.com/jeshraghian/snntorch/issues/250",
    cause="second-backward",
)
def neurons_that_are_not_reset():
    import snntorch as snn

    model = nn.Sequential(
        nn.Conv2d(1, 4, 5), nn.MaxPool2d(2), snn.Leaky(beta=0.9, init_hidden=True),
        nn.Flatten(), nn.Linear(4 * 12 * 12, 10),
        snn.Leaky(beta=0.9, init_hidden=True, output=True),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    batches = [(torch.rand(4, 1, 28, 28), torch.randint(10, (4,))) for _ in range(2)]

    def loss_of(image, label, steps=3):
        membranes = [model(image)[1] for _ in range(steps)]  #!
        return sum(F.cross_entropy(membrane, label) for membrane in membranes)

    def compute():
        loss_of(*batches[0]).backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss_of(*batches[1])

    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/sgadgil6/cnslab_fmri/issues/4",
    cause="second-backward",
)
def hidden_state_of_the_last_batch():
    class Scans(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(22, 32, batch_first=True)
            self.linear = nn.Linear(32, 1)
            self.hidden = torch.randn(1, 8, 32), torch.randn(1, 8, 32)

        def forward(self, x):
            states, self.hidden = self.lstm(x, self.hidden)  #!
            return self.linear(F.dropout(states[:, -1], 0.2, self.training)).squeeze(-1)

    model = Scans()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    batches = [(torch.randn(8, 30, 22), torch.randint(2, (8,)).float()) for _ in range(2)]

    def compute():
        for x, sex in batches:
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(x), sex)
            if x is not batches[-1][0]:
                loss.backward()
                optimizer.step()
        return loss

    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/DataXujing/YOLO-v5/issues/23",
    cause="leaf-in-place",
)
def bias_of_a_detector():
    class Detect(nn.Module):
        def __init__(self, classes=4, anchors=3):
            super().__init__()
            self.classes, self.anchors = classes, anchors
            self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, 4, 1), nn.BatchNorm2d(16), nn.SiLU())
            self.head = nn.Conv2d(16, anchors * (classes + 5), 1)

        def initialise_bias(self, stride):
            bias = self.head.bias.view(self.anchors, -1)
            bias[:, 4] += math.log(8 / (640 / stride) ** 2)  # 8 objects in an image of 640  #!
            bias[:, 5:] += math.log(0.6 / (self.classes - 0.99))
            self.head.bias = nn.Parameter(bias.view(-1))

        def forward(self, image):
            x = self.head(self.backbone(image))
            return x.unflatten(1, (self.anchors, -1))

    model, image = Detect(), torch.rand(2, 3, 32, 32)

    def compute():
        model.initialise_bias(stride=4)
        objects = model(image)[:, :, 4]
        return F.binary_cross_entropy_with_logits(objects, torch.zeros_like(objects))

    return Step(model, compute, torch.optim.SGD(model.parameters(), 0.01))


@case(
    library="transformers",
    source="https://github.com/learnables/learn2learn/issues/363",
    cause="unused-input",
)
def inner_step_of_maml():
    import transformers as tf

    config = tf.ViTConfig(
        image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64,
    )  # fmt: skip
    model, head = tf.ViTModel(config), nn.Linear(32, 5)  # its pooler is not used below
    image, label = torch.rand(10, 3, 32, 32), torch.arange(5).repeat(2)

    def loss_of(parameters, images, labels):
        outputs = torch.func.functional_call(model, parameters, (images,))
        return F.cross_entropy(head(outputs.last_hidden_state[:, 0]), labels)

    def compute():
        slow = dict(model.named_parameters())
        loss = loss_of(slow, image[:5], label[:5])
        slopes = torch.autograd.grad(loss, slow.values(), create_graph=True)  #!
        fast = {
            name: p - 0.1 * slope for (name, p), slope in zip(slow.items(), slopes, strict=True)
        }
        return loss_of(fast, image[5:], label[5:])

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-4))


@case(
    library="transformers",
    source="https://github.com/z814081807/DeepNER/issues/19",
    cause=("vector-backward", "vector-loss"),
)
def loss_of_each_token():
    import transformers as tf

    class Tagger(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.bert = tf.BertModel(config, add_pooling_layer=False)
            self.tags = nn.Linear(config.hidden_size, 7)
            self.criterion = nn.CrossEntropyLoss(reduction="none")  #!

        def forward(self, ids, mask, labels):
            logits = self.tags(self.bert(ids, attention_mask=mask).last_hidden_state)
            active = mask.view(-1) == 1
            return self.criterion(logits.view(-1, 7)[active], labels.view(-1)[active])  #!

    model = Tagger(
        tf.BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=64,
        )
    )  # fmt: skip
    ids, labels = torch.randint(3, 100, (2, 9)), torch.randint(7, (2, 9))
    mask = (torch.arange(9) < torch.tensor([[9], [5]])).long()
    return Step(model, lambda: model(ids, mask, labels), torch.optim.AdamW(model.parameters()))


@case(
    library="torchvision",
    source="https://github.com/bytetriper/RAE/issues/74",
    cause="donated-buffer",
    missed="a recording runs compiled code eagerly, and there the error does not occur",
)
def adaptive_weight_of_a_compiled_model():
    from torchvision.models import resnet18

    decoder = nn.Sequential(
        nn.Conv2d(8, 16, 3, padding=1), nn.GELU(), nn.Upsample(scale_factor=2),
        nn.Conv2d(16, 3, 3, padding=1),
    )  # fmt: skip
    critic = resnet18(num_classes=1)
    compiled = torch.compile(decoder, backend="aot_eager")  #!
    latent, image = torch.randn(2, 8, 16, 16), torch.rand(2, 3, 32, 32)
    F.l1_loss(compiled(latent), image).backward()  # the first epochs, without the critic
    decoder.zero_grad()

    def norm(loss):
        (slope,) = torch.autograd.grad(loss, decoder[-1].weight, retain_graph=True)  #!
        return slope.norm()

    def compute():
        fake = compiled(latent)
        reconstruction, adversarial = F.l1_loss(fake, image), -critic(fake).mean()
        weight = norm(reconstruction) / (norm(adversarial) + 1e-4)
        return reconstruction + weight.clamp(0, 1e4).detach() * adversarial

    return Step(decoder, compute, torch.optim.Adam(decoder.parameters(), 1e-4))


@case(
    library="torch",
    source="https://github.com/pytorch/pytorch/issues/26596",
    cause="overwritten",
)
def embedding_with_a_largest_norm():
    class Entities(nn.Module):
        """Scores of all entities, and of the pairs in the batch."""

        def __init__(self):
            super().__init__()
            self.entities = nn.Embedding(40, 16, max_norm=1.0)  #!
            self.relation = nn.Linear(16, 16, bias=False)

        def forward(self, first, second):
            everyone = self.relation(self.entities.weight)
            pair = self.relation(self.entities(first)) * self.entities(second)  #!
            return pair.sum(-1), everyone[first] @ everyone.T

    model = Entities()
    first, second = torch.randint(40, (12,)), torch.randint(40, (12,))

    def compute():
        pair, ranking = model(first, second)
        return F.cross_entropy(ranking, second) - F.logsigmoid(pair).mean()

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-3))


@case(
    library="diffusers",
    source="https://github.com/huggingface/diffusers/issues/5678",
    cause="no-double-backward",
)
def slope_of_a_slope_of_attention():
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1,
        block_out_channels=(16, 32), norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    noisy, noise, time = torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16), torch.tensor([3, 90])

    def compute():
        x = noisy.clone().requires_grad_()
        predicted = model(x, time).sample  #!
        (slope,) = torch.autograd.grad((predicted * noise).sum(), x, create_graph=True)  #!
        return F.mse_loss(predicted, noise) + slope.square().mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), 1e-4))


@case(
    library="torch",
    source="https://github.com/tamarott/SinGAN/issues/148",
    cause="overwritten",
)
def one_fake_for_all_steps_of_the_generator():
    def block(channels, out):
        return nn.Sequential(
            nn.Conv2d(channels, out, 3, 1, 1), nn.BatchNorm2d(out), nn.LeakyReLU(0.2)
        )

    generator = nn.Sequential(block(3, 16), block(16, 16), nn.Conv2d(16, 3, 3, 1, 1), nn.Tanh())
    critic = nn.Sequential(block(3, 16), block(16, 16), nn.Conv2d(16, 1, 3, 1, 1))
    optimizer = torch.optim.Adam(generator.parameters(), 5e-4, betas=(0.5, 0.999))
    real, fixed = torch.rand(1, 3, 24, 24) * 2 - 1, torch.randn(1, 3, 24, 24)

    def compute():
        fake = generator(torch.randn(1, 3, 24, 24))  # made for the critic  #!
        for step in range(2):
            loss = -critic(fake).mean() + 10 * F.mse_loss(generator(fixed), real)  #!
            optimizer.zero_grad()
            if step == 0:
                loss.backward(retain_graph=True)
                optimizer.step()
        return loss

    return Step(generator, compute, optimizer)
