"""The loss does not depend on what it should: a line of somebody's code dropped the history.

Each function follows the thread that it cites; the model around the line comes from a
library, or resembles the thread's own.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Variable

from cases.case import Step, case


@case(
    library="transformers",
    source="https://github.com/laekov/fastmoe/issues/49",
    cause="copy",
)
def balance_loss_of_experts():
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=200, hidden_size=64, intermediate_size=96, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, num_local_experts=4,
    )  # fmt: skip
    model = MixtralForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(200, (4, 24))

    def balance(router_logits):
        shares = router_logits.softmax(-1)
        chosen = F.one_hot(shares.argmax(-1), 4).float().mean(0)
        return 4 * (chosen * shares.mean(0)).sum()

    def compute():
        out = model(input_ids=tokens, labels=tokens, output_router_logits=True)
        losses = [balance(router_logits) for router_logits in out.router_logits]
        return out.loss + 0.01 * torch.tensor(losses).mean()  #!

    return Step(model, compute, optimizer)


class Unfolding(nn.Module):
    """Three stages that restore an image, each with an output of its own."""

    def __init__(self, width=16):
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(3, width, 3, padding=1),
                nn.PReLU(),
                nn.Conv2d(width, width, 3, padding=1),
                nn.PReLU(),
                nn.Conv2d(width, 3, 3, padding=1),
            )
            for _ in range(3)
        )

    def forward(self, image):
        restored = [image]
        for stage in self.stages:
            restored.append(restored[-1] + stage(restored[-1]))
        return restored[:0:-1]


@case(
    library="kornia",
    source="https://github.com/MC-E/Deep-Generalized-Unfolding-Networks-for-Image-Restoration/issues/6",
    cause="copy",
)
def losses_of_restored_stages():
    from kornia.filters import laplacian
    from kornia.losses import charbonnier_loss

    model = Unfolding()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    clean = torch.rand(2, 3, 32, 32)
    blurred = F.avg_pool2d(clean, 3, stride=1, padding=1)

    def compute():
        restored = model(blurred)
        char = [charbonnier_loss(image, clean, "mean") for image in restored]
        edge = [
            charbonnier_loss(laplacian(image, 3), laplacian(clean, 3), "mean") for image in restored
        ]
        loss_char = torch.tensor(char, requires_grad=True).sum()  #!
        loss_edge = torch.tensor(edge, requires_grad=True).sum()  #!
        return loss_char + 0.05 * loss_edge

    return Step(model, compute, optimizer)


@case(
    library="torchvision",
    source="https://github.com/facebookresearch/inversecooking/issues/3",
    cause="data",
    also=("no-history",),
)
def stacked_words_of_a_caption():
    from torchvision.models import resnet18

    class Recipes(nn.Module):
        """An image encoder, and a decoder that predicts one word after the other."""

        def __init__(self, words=40, width=64):
            super().__init__()
            self.encoder = nn.Sequential(*list(resnet18().children())[:-2])
            self.project = nn.Conv2d(512, width, 1)
            self.words = nn.Embedding(words, width)
            layer = nn.TransformerDecoderLayer(width, 4, 128, batch_first=True)
            self.decoder, self.head = nn.TransformerDecoder(layer, 2), nn.Linear(width, words)

        def forward(self, image, captions):
            memory = self.project(self.encoder(image)).flatten(2).transpose(1, 2)
            logits = []
            for end in range(1, captions.shape[1] + 1):
                hidden = self.decoder(self.words(captions[:, :end]), memory)
                logits.append(self.head(hidden[:, -1]))
            return torch.stack(logits, 1).data  #!

    model = Recipes()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    image, captions = torch.rand(2, 3, 64, 64), torch.randint(40, (2, 6))

    def compute():
        logits = model(image, captions[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), captions[:, 1:].flatten())

    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/huggingface/torchMoji/issues/21",
    cause=("data", "loss-is-leaf"),
)
def wrapped_loss_of_a_tuned_encoder():
    class Emoji(nn.Module):
        def __init__(self, words=300, width=48):
            super().__init__()
            self.embed = nn.Embedding(words, width)
            self.lstm_0 = nn.LSTM(width, 32, batch_first=True, bidirectional=True)
            self.lstm_1 = nn.LSTM(64, 32, batch_first=True, bidirectional=True)
            self.attention, self.output = nn.Linear(64, 1), nn.Linear(64, 2)

        def forward(self, words, return_tensor=True):
            hidden = self.lstm_1(self.lstm_0(torch.tanh(self.embed(words)))[0])[0]
            outputs = self.output((self.attention(hidden).softmax(1) * hidden).sum(1))
            if return_tensor:
                outputs = outputs.data  #!
            return outputs

    model = Emoji()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    words, label = torch.randint(300, (8, 12)), torch.randint(2, (8,))

    def compute():
        loss = F.cross_entropy(model(words), label)
        return Variable(loss, requires_grad=True)  #!

    return Step(model, compute, optimizer)


@case(
    library="lightning",
    source="https://github.com/nikhilsinghmus/image2reverb/issues/37",
    cause="detach",
)
def adversarial_term_of_a_generator():
    import lightning

    class Image2Reverb(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.enc = nn.Sequential(
                nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1),
                nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(4),
            )  # fmt: skip
            self.g = nn.Sequential(
                nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
                nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh(),
            )  # fmt: skip
            self.d = nn.Sequential(
                nn.Conv2d(33, 16, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 3)
            )

        def judge(self, spectrogram, features):
            shown = features.mean((2, 3), keepdim=True).expand(-1, -1, *spectrogram.shape[2:])
            return self.d(torch.cat([spectrogram, shown], 1))

        def training_step(self, batch, _):
            spectrogram, image = batch
            features = self.enc(image)
            fake = self.g(features)
            verdict = self.judge(fake.detach(), features.detach())  #!
            return F.mse_loss(verdict, torch.ones_like(verdict)) + 100 * F.l1_loss(
                fake, spectrogram
            )

    model = Image2Reverb()
    generator = [*model.enc.parameters(), *model.g.parameters()]
    model.d.requires_grad_(False)  # the generator's turn, as Lightning's toggle_optimizer does
    optimizer = torch.optim.Adam(generator, lr=2e-4, betas=(0.0, 0.99))
    batch = torch.rand(4, 1, 16, 16) * 2 - 1, torch.rand(4, 3, 32, 32)
    return Step(model, lambda: model.training_step(batch, 0), optimizer)


@case(
    library="transformers",
    source="https://github.com/TinyLLaVA/TinyLLaVA_Factory/issues/17",
    cause="no-grad",
)
def vision_tower_to_be_tuned():
    from transformers import CLIPVisionConfig, CLIPVisionModel, LlamaConfig, LlamaForCausalLM

    class VisionTower(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.tower = CLIPVisionModel(config)

        @torch.no_grad()  #!
        def forward(self, images):
            return self.tower(images).last_hidden_state[:, 1:]

    class Llava(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
            small = {**sizes, "intermediate_size": 96}
            self.vision = VisionTower(CLIPVisionConfig(image_size=32, patch_size=8, **small))
            self.projector = nn.Sequential(nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 48))
            self.llm = LlamaForCausalLM(LlamaConfig(vocab_size=150, **small))

        def forward(self, images, tokens):
            seen = self.projector(self.vision(images))
            embeds = torch.cat([seen, self.llm.get_input_embeddings()(tokens)], 1)
            labels = torch.cat([torch.full(seen.shape[:2], -100), tokens], 1)
            return self.llm(inputs_embeds=embeds, labels=labels).loss

    model = Llava()
    model.vision.tower.post_layernorm.requires_grad_(False)  # for the pooled output only
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-5)
    images, tokens = torch.rand(2, 3, 32, 32), torch.randint(150, (2, 10))
    return Step(model, lambda: model(images, tokens), optimizer)


@case(
    library="transformers",
    source="https://github.com/edreisMD/ConVIRT-pytorch/issues/7",
    cause="no-grad",
)
def text_projection_of_a_contrastive_model():
    from torchvision.models import resnet18
    from transformers import BertConfig, BertModel

    class ModelCLR(nn.Module):
        def __init__(self):
            super().__init__()
            self.image = nn.Sequential(*list(resnet18().children())[:-1], nn.Flatten())
            self.image_fc = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 32))
            config = BertConfig(
                vocab_size=200, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                intermediate_size=96,
            )  # fmt: skip
            self.text = BertModel(config, add_pooling_layer=False).requires_grad_(False)
            self.text_fc = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 32))

        def forward(self, images, tokens):
            zis = self.image_fc(self.image(images))
            with torch.no_grad():  #!
                embedded = self.text(tokens).last_hidden_state.mean(1)
                zls = self.text_fc(embedded)
            return F.normalize(zis, dim=1), F.normalize(zls, dim=1)

    model = ModelCLR()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    images, tokens = torch.rand(6, 3, 64, 64), torch.randint(200, (6, 10))

    def compute():
        zis, zls = model(images, tokens)
        scores = zis @ zls.T / 0.1
        return (
            F.cross_entropy(scores, torch.arange(6)) + F.cross_entropy(scores.T, torch.arange(6))
        ) / 2

    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/denfed/leaf-audio-pytorch/issues/3",
    cause="no-grad",
)
def constrained_gabor_kernels():
    class GaborConv(nn.Module):
        def __init__(self, filters=16, size=65):
            super().__init__()
            centres = torch.linspace(0.1, 2.8, filters)
            widths = torch.full((filters,), 8.0)
            self._kernel = nn.Parameter(torch.stack([centres, widths], 1))
            self.size = size

        def constrained(self):
            with torch.no_grad():  #!
                centre = self._kernel[:, 0].clamp(0.0, torch.pi)
                width = self._kernel[:, 1].clamp(2.0, self.size)
                return centre, width

        def forward(self, wave):
            centre, width = (values[:, None] for values in self.constrained())
            t = torch.arange(self.size) - self.size // 2
            envelope = torch.exp(-(t**2) / (2 * width**2)) / width
            real, imaginary = envelope * torch.cos(centre * t), envelope * torch.sin(centre * t)
            kernels = torch.stack([real, imaginary], 1).flatten(0, 1)[:, None]
            return F.conv1d(wave, kernels, padding=self.size // 2)

    class Leaf(nn.Module):
        def __init__(self, filters=16):
            super().__init__()
            self._complex_conv = GaborConv(filters)
            self.pooling = nn.Conv1d(filters, filters, 33, stride=16, groups=filters, bias=False)
            self.norm, self.head = nn.BatchNorm1d(filters), nn.Linear(filters, 10)

        def forward(self, wave):
            energy = self._complex_conv(wave).unflatten(1, (-1, 2)).pow(2).mean(2)
            return self.head(torch.relu(self.norm(self.pooling(energy))).mean(-1))

    model = Leaf()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-6)
    wave, label = torch.randn(8, 1, 800), torch.randint(10, (8,))
    return Step(model, lambda: F.cross_entropy(model(wave), label), optimizer)


@case(
    library="torch_geometric",
    source="https://github.com/benedekrozemberczki/pytorch_geometric_temporal/issues/80",
    cause="new-parameter",
    also=("stale-optimizer", "not-in-optimizer", "unregistered"),
)
def evolving_weights_of_a_graph_network():
    from torch_geometric.nn import GCNConv

    class EvolveGCNO(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.recurrent_layer = nn.GRU(width, width)
            self.conv_layer = GCNConv(width, width, bias=False)

        def forward(self, x, edges):
            weight = self.conv_layer.lin.weight[None]
            weight, _ = self.recurrent_layer(weight, weight)
            self.conv_layer.lin.weight = nn.Parameter(weight.squeeze(0))  #!
            return self.conv_layer(x, edges)

    class RecurrentGCN(nn.Module):
        def __init__(self, width=16):
            super().__init__()
            self.recurrent, self.linear = EvolveGCNO(width), nn.Linear(width, 1)

        def forward(self, x, edges):
            return self.linear(F.relu(self.recurrent(x, edges)))

    model = RecurrentGCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, edges, y = torch.randn(20, 16), torch.randint(20, (2, 60)), torch.randn(20, 1)
    return Step(model, lambda: F.mse_loss(model(x, edges), y), optimizer)
