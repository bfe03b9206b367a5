"""A parameter gets no update: it is frozen, unregistered, unused, or no optimizer holds it.

Each function follows the thread that it cites; the model around the line comes from a
library, or resembles the thread's own.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import Step, case


@case(
    library="torch_geometric",
    source="https://github.com/pyg-team/pytorch_geometric/issues/7478",
    cause="unregistered",
)
def graph_convolutions_in_a_list():
    from torch_geometric.nn import GCNConv, global_mean_pool

    class GCN(nn.Module):
        def __init__(self, features=12, classes=3):
            super().__init__()
            self.convs = [GCNConv(features, 16), GCNConv(16, 16)]  #!
            self.norm, self.linear = nn.LayerNorm(16), nn.Linear(16, classes)

        def forward(self, x, edges, batch):
            for conv in self.convs:
                x = F.relu(conv(x, edges))
            return self.linear(self.norm(global_mean_pool(x, batch)))

    model = GCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    x, edges = torch.randn(40, 12), torch.randint(40, (2, 120))
    batch, y = torch.arange(40) // 10, torch.randint(3, (4,))
    return Step(model, lambda: F.cross_entropy(model(x, edges, batch), y), optimizer)


@case(
    library="transformers",
    source="https://github.com/asyml/texar-pytorch/issues/72",
    cause="unregistered",
)
def merged_branches_in_a_list():
    from transformers import BertConfig, BertModel

    class MergeLayer(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self._layers = layers  #!

        def forward(self, x):
            return torch.cat([layer(x) for layer in self._layers], dim=1)

    class TextCNN(nn.Module):
        def __init__(self, width=48):
            super().__init__()
            config = BertConfig(
                vocab_size=200, hidden_size=width, num_hidden_layers=1, num_attention_heads=4,
                intermediate_size=96,
            )  # fmt: skip
            self.encoder = BertModel(config, add_pooling_layer=False)
            branches = [
                nn.Sequential(nn.Conv1d(width, 16, size), nn.ReLU(), nn.AdaptiveMaxPool1d(1))
                for size in (3, 4, 5)
            ]
            self.merge, self.dense = MergeLayer(branches), nn.Linear(48, 4)

        def forward(self, tokens):
            hidden = self.encoder(tokens).last_hidden_state.transpose(1, 2)
            return self.dense(self.merge(hidden).flatten(1))

    model = TextCNN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens, label = torch.randint(200, (6, 20)), torch.randint(4, (6,))
    return Step(model, lambda: F.cross_entropy(model(tokens), label), optimizer)


@case(
    library="torchvision",
    source="https://github.com/microsoft/nni/issues/4521",
    cause=("stale-optimizer", "not-in-optimizer"),
)
def pruned_layers_of_a_network():
    from torchvision.models import vgg11_bn

    def speedup(model, first, norm, second):
        """Replace two convolutions by ones with half of the channels in between."""
        old, after = model.features[first], model.features[second]
        kept = old.weight.abs().sum((1, 2, 3)).topk(old.out_channels // 2).indices
        small = nn.Conv2d(old.in_channels, len(kept), 3, padding=1)
        small.load_state_dict({"weight": old.weight[kept], "bias": old.bias[kept]})
        narrow = nn.Conv2d(len(kept), after.out_channels, 3, padding=1)
        narrow.load_state_dict({"weight": after.weight[:, kept], "bias": after.bias})
        model.features[first], model.features[second] = small, narrow
        model.features[norm] = nn.BatchNorm2d(len(kept))

    model = vgg11_bn(num_classes=10)
    model.classifier = nn.Sequential(nn.Flatten(), nn.Linear(512 * 49, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)  #!
    speedup(model, first=8, norm=9, second=11)  #!
    image, label = torch.rand(2, 3, 64, 64), torch.randint(10, (2,))
    return Step(model, lambda: F.cross_entropy(model(image), label), optimizer)


@case(
    library="transformers",
    source="https://github.com/huggingface/transformers/pull/3532",
    cause=("stale-optimizer", "not-in-optimizer"),
)
def embeddings_resized_after_the_optimizer():
    from transformers import GPT2Config, GPT2LMHeadModel

    def resize_token_embeddings(model, count):
        """As the library did then: a new module. Today it keeps the parameter."""
        old, new = model.get_input_embeddings(), nn.Embedding(count, model.config.n_embd)
        new.weight.data.normal_(std=0.02)
        new.weight.data[: len(old.weight)] = old.weight.data
        model.config.vocab_size = count
        model.set_input_embeddings(new)
        model.tie_weights()

    config = GPT2Config(vocab_size=150, n_positions=64, n_embd=48, n_layer=2, n_head=4,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    model = GPT2LMHeadModel(config)
    no_decay = ("bias", "ln_1.weight", "ln_2.weight", "ln_f.weight")
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if not n.endswith(no_decay)], "weight_decay": 0.01},
        {"params": [p for n, p in named if n.endswith(no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=5e-5)  #!
    resize_token_embeddings(model, 157)  #!
    tokens = torch.randint(157, (4, 24))
    return Step(model, lambda: model(input_ids=tokens, labels=tokens).loss, optimizer)


@case(
    library="transformers",
    source="https://github.com/huggingface/pytorch-openai-transformer-lm/pull/6",
    cause="not-in-optimizer",
)
def head_beside_the_transformer():
    from transformers import OpenAIGPTConfig, OpenAIGPTModel

    class DoubleHead(nn.Module):
        def __init__(self, classes=2):
            super().__init__()
            config = OpenAIGPTConfig(vocab_size=120, n_positions=32, n_embd=48, n_layer=2, n_head=4)
            self.transformer = OpenAIGPTModel(config)
            self.clf_head = nn.Sequential(nn.Dropout(0.1), nn.Linear(48, classes))

        def forward(self, tokens):
            hidden = self.transformer(tokens).last_hidden_state
            lm_logits = hidden @ self.transformer.tokens_embed.weight.T
            return lm_logits, self.clf_head(hidden[:, -1])

    dh_model = DoubleHead()
    optimizer = torch.optim.Adam(dh_model.transformer.parameters(), lr=6.25e-5)  #!
    tokens, label = torch.randint(120, (4, 20)), torch.randint(2, (4,))

    def compute():
        lm_logits, clf_logits = dh_model(tokens)
        lm_loss = F.cross_entropy(lm_logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        return F.cross_entropy(clf_logits, label) + 0.5 * lm_loss

    return Step(dh_model, compute, optimizer)


@case(
    library="pytorch_metric_learning",
    source="https://github.com/4uiiurz1/pytorch-adacos/issues/10",
    cause=("not-in-optimizer", "unregistered"),
    missed="the centres are in no model that was given, and a part that is not trained may be "
    "meant, as a loss network is",
)
def class_centres_of_an_angular_loss():
    import timm
    from pytorch_metric_learning.losses import ArcFaceLoss

    model = timm.create_model("resnet10t", num_classes=0)
    metric_fc = ArcFaceLoss(num_classes=10, embedding_size=512)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)  #!
    images, labels = torch.rand(4, 3, 64, 64), torch.randint(10, (4,))
    return Step(model, lambda: metric_fc(model(images), labels), optimizer)


@case(
    library="torch",
    source="https://github.com/line/open-universe/issues/5",
    cause="not-in-optimizer",
    missed="the line that builds the optimizer is named; the list was made in a function that it "
    "calls",
)
def one_of_two_discriminators():
    def convolutions(kernel, stride):
        return nn.Sequential(
            nn.Conv2d(1, 16, kernel, stride, (kernel[0] // 2, 0)), nn.LeakyReLU(0.1),
            nn.Conv2d(16, 32, kernel, stride, (kernel[0] // 2, 0)), nn.LeakyReLU(0.1),
            nn.Conv2d(32, 1, (3, 1), padding=(1, 0)),
        )  # fmt: skip

    class PeriodDiscriminators(nn.Module):
        def __init__(self, periods=(2, 3, 5)):
            super().__init__()
            self.periods = periods
            self.nets = nn.ModuleList(convolutions((5, 1), (3, 1)) for _ in periods)

        def forward(self, wave):
            for period, net in zip(self.periods, self.nets, strict=True):
                yield net(
                    F.pad(wave, (0, -wave.shape[1] % period)).unflatten(1, (-1, period))[:, None]
                )

    class ResolutionDiscriminators(nn.Module):
        def __init__(self, sizes=(32, 64)):
            super().__init__()
            self.sizes = sizes
            self.nets = nn.ModuleList(convolutions((3, 3), (1, 2)) for _ in sizes)

        def forward(self, wave):
            for size, net in zip(self.sizes, self.nets, strict=True):
                window = torch.hann_window(size)
                spectrum = torch.stft(wave, size, size // 4, window=window, return_complex=True)
                yield net(spectrum.abs()[:, None].transpose(2, 3))

    class UniverseGAN(nn.Module):
        def __init__(self):
            super().__init__()
            self.loss_mpd, self.loss_mrd = PeriodDiscriminators(), ResolutionDiscriminators()

        def disc_params(self):
            return [*self.loss_mrd.parameters(), *self.loss_mrd.parameters()]  #!

        def discriminator_loss(self, real, fake):
            loss = 0
            for judge in (self.loss_mpd, self.loss_mrd):
                for good, bad in zip(judge(real), judge(fake), strict=True):
                    loss = loss + ((1 - good) ** 2).mean() + (bad**2).mean()
            return loss

    model = UniverseGAN()
    optimizer = torch.optim.AdamW(model.disc_params(), lr=2e-4)
    real, fake = torch.randn(2, 2, 960)
    return Step(model, lambda: model.discriminator_loss(real, fake), optimizer)


@case(
    library="lightning",
    source="https://github.com/Lightning-AI/pytorch-lightning/issues/21901",
    cause="frozen",
)
def backbone_frozen_again_on_resume():
    import lightning
    from lightning.pytorch.callbacks import BackboneFinetuning
    from torchvision.models import mobilenet_v3_small

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.backbone = mobilenet_v3_small(num_classes=64)
            self.head = nn.Linear(64, 5)

        def training_step(self, batch, _):
            image, label = batch
            return F.cross_entropy(self.head(self.backbone(image)), label)

        def configure_optimizers(self):
            return torch.optim.Adam(filter(lambda p: p.requires_grad, self.parameters()), lr=1e-3)

    model, callback = Classifier(), BackboneFinetuning(unfreeze_backbone_at_epoch=1)
    callback.freeze_before_training(model)
    optimizer = model.configure_optimizers()
    callback.unfreeze_and_add_param_group(model.backbone, optimizer, lr=1e-4)
    callback.freeze_before_training(model)  #!  the run is resumed after the epoch of unfreezing
    batch = torch.rand(2, 3, 64, 64), torch.randint(5, (2,))
    return Step(model, lambda: model.training_step(batch, 0), optimizer)


@case(
    library="diffusers",
    source="https://github.com/huggingface/diffusers/issues/5016",
    cause="frozen",
)
def adapters_of_a_text_encoder():
    from diffusers import DDPMScheduler, UNet2DConditionModel
    from peft import LoraConfig
    from transformers import CLIPTextConfig, CLIPTextModel

    unet = UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, block_out_channels=(32, 64),
        layers_per_block=1, cross_attention_dim=32, attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )  # fmt: skip
    config = CLIPTextConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=16, bos_token_id=98, eos_token_id=99,
    )  # fmt: skip
    text_encoder = CLIPTextModel(config)
    unet.requires_grad_(False)
    unet.add_adapter(LoraConfig(r=4, target_modules=["to_k", "to_q", "to_v", "to_out.0"]))
    text_encoder.add_adapter(LoraConfig(r=4, target_modules=["q_proj", "k_proj", "v_proj"]))
    text_encoder.requires_grad_(False)  #!

    lora = [p for n, p in text_encoder.named_parameters() if "lora_" in n]
    params = [p for p in unet.parameters() if p.requires_grad] + lora
    optimizer = torch.optim.AdamW(params, lr=1e-4)
    model, scheduler = nn.ModuleDict({"unet": unet, "text": text_encoder}), DDPMScheduler()
    latents, noise = torch.randn(2, 2, 4, 8, 8)
    prompt, steps = torch.randint(100, (2, 12)), torch.randint(1000, (2,))

    def compute():
        noisy = scheduler.add_noise(latents, noise, steps)
        hidden = text_encoder(prompt).last_hidden_state
        return F.mse_loss(unet(noisy, steps, hidden).sample, noise)

    return Step(model, compute, optimizer)


@case(
    library="timm",
    source="https://github.com/skorch-dev/skorch/issues/317",
    cause=("stale-optimizer", "not-in-optimizer"),
    missed="the lines that built the optimizer and copied the module are named; who handed it on "
    "is not seen",
)
def copied_module_with_the_old_optimizer():
    import timm

    class NeuralNet:
        def initialize(self):
            self.module_ = timm.create_model("mobilenetv3_small_050", num_classes=6)
            self.optimizer_ = torch.optim.SGD(self.module_.parameters(), lr=0.01)
            return self

        def __deepcopy__(self, memo):
            other = NeuralNet()
            other.module_ = copy.deepcopy(self.module_, memo)
            other.optimizer_ = self.optimizer_  #!
            return other

    net = copy.deepcopy(NeuralNet().initialize())
    images, labels = torch.rand(2, 3, 64, 64), torch.randint(6, (2,))
    return Step(net.module_, lambda: F.cross_entropy(net.module_(images), labels), net.optimizer_)
