"""A line of somebody's code dropped the history of a part of what the loss depends on.

Each function follows the thread that it cites; the model around the line comes from a library."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import Step, case


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
