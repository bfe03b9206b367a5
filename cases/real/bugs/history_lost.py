"""The loss does not depend on what it should: a line of somebody's code dropped the history.

Each function follows the thread that it cites; the model around the line comes from a
library, or resembles the thread's own.
"""

import copy

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


@case(
    library="segmentation_models_pytorch",
    source="https://github.com/wonbeomjang/mobile-hair-segmentation-pytorch/issues/3",
    cause="integer",
)
def edges_of_a_predicted_mask():
    import segmentation_models_pytorch as smp

    def slopes(image):
        sobel = torch.tensor([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
        kernels = torch.stack([sobel, sobel.T])[:, None]
        x, y = F.conv2d(image, kernels, padding=1).split(1, 1)
        return x / (x**2 + y**2 + 1e-6).sqrt(), y / (x**2 + y**2 + 1e-6).sqrt()

    class ImageGradientLoss(nn.Module):
        def forward(self, pred, grey):
            pred = pred.argmax(1, keepdim=True).float()  #!
            (x, y), (u, v) = slopes(pred), slopes(grey)
            length = (x**2 + y**2).sqrt()
            return (length * (1 - (x * u + y * v) ** 2)).sum() / (length.sum() + 1e-6)

    model = smp.Unet("mobilenet_v2", encoder_weights=None, classes=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    image, mask = torch.rand(2, 3, 64, 64), torch.randint(2, (2, 64, 64))
    image_gradient_loss = ImageGradientLoss()

    def compute():
        pred = model(image)
        hair = F.cross_entropy(pred, mask)
        return hair + 0.5 * image_gradient_loss(pred, image.mean(1, keepdim=True))

    return Step(model, compute, optimizer)


@case(
    library="torchvision",
    source="https://github.com/LZGMatrix/BOP19_CDPN_2019ICCV/issues/4",
    cause="integer",
    also=("no-history",),
)
def coordinates_of_the_likeliest_bin():
    from torchvision.models import resnet18

    class CDPN(nn.Module):
        def __init__(self, bins=16):
            super().__init__()
            self.backbone = nn.Sequential(*list(resnet18().children())[:-2])
            self.rise = nn.ConvTranspose2d(512, 64, 4, 2, 1)
            self.axes = nn.ModuleList(nn.Conv2d(64, bins, 1) for _ in range(3))

        def forward(self, image):
            features = F.relu(self.rise(self.backbone(image)))
            return [axis(features) for axis in self.axes]

    model = CDPN()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
    image, target = torch.rand(2, 3, 64, 64), torch.rand(2, 3, 4, 4) * 2 - 1

    def compute():
        x, y, z = model(image)
        bins = torch.stack([x.argmax(1), y.argmax(1), z.argmax(1)], dim=1)  #!
        return F.l1_loss(2.0 * bins.float() / 15.0 - 1.0, target)

    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/speechbrain/speechbrain/issues/1396",
    cause="detach",
)
def noise_before_a_speech_encoder():
    class Recogniser(nn.Module):
        """A noise that is added to the wave is learned; the recogniser stays as it is."""

        def __init__(self):
            super().__init__()
            self.noise = nn.Parameter(0.01 * torch.randn(1, 1600))
            self.enc = nn.GRU(65, 48, num_layers=2, batch_first=True).requires_grad_(False)
            self.adapt, self.ctc_lin = nn.Linear(48, 48), nn.Linear(48, 12)

        def features(self, wave):
            window = torch.hann_window(128)
            spectrum = torch.stft(wave, 128, 64, window=window, return_complex=True)
            return torch.log1p(spectrum.abs()).transpose(1, 2)

        def forward(self, wave):
            feats = self.features(wave + self.noise)
            x, _ = self.enc(feats.detach())  #!
            return self.ctc_lin(torch.relu(self.adapt(x))).log_softmax(-1)

    model = Recogniser()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    wave, words = torch.randn(4, 1600), torch.randint(1, 12, (4, 5))

    def compute():
        log_probs = model(wave).transpose(0, 1)
        lengths = torch.full((4,), log_probs.shape[0]), torch.full((4,), 5)
        return F.ctc_loss(log_probs, words, *lengths)

    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/showlab/Olaf-World/issues/8",
    cause="straight-through",
    missed_line="the straight-through estimator is named, and that the codes need a loss of their "
    "own; which term of the loss should use them is known to its author alone",
)
def codebook_behind_the_straight_through():
    class VectorQuantizer(nn.Module):
        def __init__(self, codes=32, width=16):
            super().__init__()
            self.codebook = nn.Embedding(codes, width)

        def forward(self, x):
            indices = torch.cdist(x, self.codebook.weight).argmin(-1)
            z = self.codebook(indices)
            return x + (z - x).detach(), z, indices

    class LatentActions(nn.Module):
        def __init__(self, width=16):
            super().__init__()
            layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
            self.encoder, self.vq = nn.TransformerEncoder(layer, 2), VectorQuantizer(width=width)
            self.decoder = nn.Sequential(nn.Linear(2 * width, 64), nn.GELU(), nn.Linear(64, width))

        def forward(self, frames):
            z_e = self.encoder(frames)[:, 1:]
            z_q, *_ = self.vq(z_e)
            recon = self.decoder(torch.cat([frames[:, :-1], z_q], -1))
            codebook_loss = F.mse_loss(z_q, z_e.detach())  #!
            commitment = F.mse_loss(z_e, z_q.detach())
            return F.mse_loss(recon, frames[:, 1:]) + codebook_loss + 0.25 * commitment

    model = LatentActions()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    frames = torch.randn(4, 8, 16)
    return Step(model, lambda: model(frames), optimizer)


@case(
    library="torch",
    source="https://github.com/KanishJebaMathewM/Truxify/issues/13118",
    cause=("deepcopy", "data"),
)
def adapted_copy_of_a_meta_model():
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 7 * 7, 5),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = torch.rand(2, 10, 1, 28, 28), torch.randint(5, (2, 10))

    def inner_update(model):
        adapted = copy.deepcopy(model)  #!
        loss = F.cross_entropy(adapted(images[0]), labels[0])
        slopes = torch.autograd.grad(loss, adapted.parameters(), create_graph=True)
        for param, slope in zip(adapted.parameters(), slopes, strict=True):
            param.data -= 0.01 * slope  #!
        return adapted

    def compute():
        return F.cross_entropy(inner_update(model)(images[1]), labels[1])

    return Step(model, compute, optimizer)


@case(
    library="peft",
    source="https://github.com/huggingface/transformers/issues/26221",
    cause=("inside-function", "reentrant-checkpoint"),  # the second names the Function
    also=("no-history",),
)
def checkpointed_layers_behind_frozen_embeddings():
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=200, hidden_size=64, intermediate_size=128, num_hidden_layers=3,
        num_attention_heads=4, use_cache=False,
    )  # fmt: skip
    model = get_peft_model(
        LlamaForCausalLM(config), LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
    )
    base = model.get_base_model()
    base.gradient_checkpointing_enable({"use_reentrant": True})  #!
    base.disable_input_require_grads()  # the thread's peft did not enable them by itself
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    tokens = torch.randint(200, (2, 16))
    return Step(model, lambda: model(input_ids=tokens, labels=tokens).loss, optimizer)


@case(
    library="torchvision",
    source="https://github.com/Lyken17/pytorch-memonger/issues/4",
    cause=("inside-function", "reentrant-checkpoint"),  # the second names the Function
)
def checkpointed_segments_of_an_image():
    from torch.utils.checkpoint import checkpoint_sequential
    from torchvision.models import resnet18

    class Sublinear(nn.Module):
        def __init__(self):
            super().__init__()
            *features, self.fc = resnet18(num_classes=10).children()
            self.features = nn.Sequential(*features)

        def forward(self, image):
            x = checkpoint_sequential(self.features, 3, image, use_reentrant=True)  #!
            return self.fc(x.flatten(1))

    model = Sublinear()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    image, label = torch.rand(4, 3, 64, 64), torch.randint(10, (4,))
    return Step(model, lambda: F.cross_entropy(model(image), label), optimizer)


@case(
    library="transformers",
    source="https://github.com/facebookresearch/dinov2/issues/399",
    cause=(
        "inference-mode",
        "inference-tensor",
    ),  # the second is what torch's error says of the first
)
def frozen_backbone_of_a_depth_head():
    from transformers import Dinov2Backbone, Dinov2Config

    class Depther(nn.Module):
        def __init__(self):
            super().__init__()
            config = Dinov2Config(
                image_size=56, hidden_size=48, num_hidden_layers=3, num_attention_heads=4,
                out_features=["stage1", "stage3"], reshape_hidden_states=True,
            )  # fmt: skip
            self.backbone = Dinov2Backbone(config).requires_grad_(False)
            self.projects = nn.ModuleList(nn.Conv2d(48, 48, 1) for _ in range(2))
            self.decode_head = nn.Sequential(
                nn.Conv2d(96, 32, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=14),
                nn.Conv2d(32, 1, 3, padding=1), nn.Softplus(),
            )  # fmt: skip

        def extract(self, image):
            with torch.inference_mode():  #!
                return self.backbone(image).feature_maps

        def forward(self, image):
            maps = zip(self.projects, self.extract(image), strict=True)
            return self.decode_head(torch.cat([project(one) for project, one in maps], 1))

    model = Depther()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    image, depth = torch.rand(2, 3, 56, 56), 10 * torch.rand(2, 1, 56, 56)
    return Step(model, lambda: F.l1_loss(model(image), depth), optimizer)


@case(
    library="kornia",
    source="https://github.com/sharif-apu/BJDD_CVPR21/issues/11",
    cause=("detach", "escape", "copy"),
    missed="numpy computed in between: no tensor and no memory tells that the array came from "
    "the model",
)
def colours_compared_in_numpy():
    from kornia.color import rgb_to_lab
    from kornia.losses import ssim_loss

    class DeltaColorLoss(nn.Module):
        def forward(self, gen, target):
            gen = torch.from_numpy(gen.detach().cpu().numpy().clip(0, 1))  #!
            return (rgb_to_lab(gen) - rgb_to_lab(target)).norm(dim=1).mean() / 100

    class Demosaic(nn.Module):
        def __init__(self, width=24):
            super().__init__()
            self.head = nn.Conv2d(1, width, 3, padding=1)
            self.tail = nn.Conv2d(width, 3, 3, padding=1)
            self.blocks = nn.ModuleList(
                nn.Sequential(
                    nn.Conv2d(width, width, 3, padding=1),
                    nn.BatchNorm2d(width),
                    nn.PReLU(),
                    nn.Conv2d(width, width, 3, padding=1),
                )
                for _ in range(3)
            )

        def forward(self, raw):
            x = self.head(raw)
            for block in self.blocks:
                x = x + block(x)
            return torch.sigmoid(self.tail(x))

    model, color_loss = Demosaic(), DeltaColorLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.5, 0.99))
    target = torch.rand(2, 3, 32, 32)
    raw = target.mean(1, keepdim=True)

    def compute():
        gen = model(raw)
        return F.l1_loss(gen, target) + color_loss(gen, target) + ssim_loss(gen, target, 5)

    return Step(model, compute, optimizer)


@case(
    library="segmentation_models_pytorch",
    source="https://github.com/qubvel-org/segmentation_models.pytorch/pull/611",
    cause=("integer", "copy"),
)
def thresholded_dice_loss():
    import segmentation_models_pytorch as smp

    def threshold(x, limit=0.5):
        return torch.tensor((x > limit).type(x.dtype), requires_grad=True)  #!

    def dice_loss(prediction, mask, eps=1.0):
        prediction = threshold(torch.sigmoid(prediction))
        both = (prediction * mask).sum()
        return 1 - (2 * both + eps) / (prediction.sum() + mask.sum() + eps)

    model = smp.FPN("resnet18", encoder_weights=None)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    image, mask = torch.rand(2, 3, 64, 64), torch.randint(2, (2, 1, 64, 64)).float()
    return Step(model, lambda: dice_loss(model(image), mask), optimizer)
