"""Learning without labels, and learning of distances between embeddings."""

import copy

# isort: split
import torch
from lightly.loss import (
    BarlowTwinsLoss,
    DINOLoss,
    NegativeCosineSimilarity,
    NTXentLoss,
    SwaVLoss,
    VICRegLoss,
)
from lightly.models import utils
from lightly.models.modules import (
    BarlowTwinsProjectionHead,
    BYOLPredictionHead,
    BYOLProjectionHead,
    DINOProjectionHead,
    MAEDecoderTIMM,
    MaskedVisionTransformerTIMM,
    MoCoProjectionHead,
    SimCLRProjectionHead,
    SimSiamPredictionHead,
    SimSiamProjectionHead,
    SwaVProjectionHead,
    SwaVPrototypes,
)
from lightly.models.modules.heads import VICRegProjectionHead
from lightly.models.utils import deactivate_requires_grad, update_momentum
from pytorch_metric_learning import distances, losses, miners
from timm.models.vision_transformer import VisionTransformer
from torch import nn
from torch.nn import functional as F
from torchvision.models.resnet import BasicBlock, ResNet
from transformers import (
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    CLIPVisionConfig,
    ViTConfig,
    ViTForMaskedImageModeling,
)

from cases.case import Step, case

LIGHTLY = "https://github.com/lightly-ai/lightly/blob/master/examples/pytorch/"
METRIC = "https://kevinmusgrave.github.io/pytorch-metric-learning/losses/"
TRANSFORMERS = "https://github.com/huggingface/transformers/blob/main/examples/pytorch/"
TRIPLETS = (
    "https://github.com/KevinMusgrave/pytorch-metric-learning/blob/master/examples/notebooks/"
    "TripletMarginLossMNIST.ipynb"
)


def trunk():
    """A ResNet without its classifier: 512 features."""
    return nn.Sequential(*list(ResNet(BasicBlock, [1, 1, 1, 1]).children())[:-1], nn.Flatten())


def two_views(n=8):
    """The same images, disturbed in two ways."""
    images = torch.randn(n, 3, 32, 32)
    return images + 0.3 * torch.randn_like(images), images + 0.3 * torch.randn_like(images)


@case(library="lightly", source=LIGHTLY + "simclr.py")
def simclr():
    model = nn.Sequential(trunk(), SimCLRProjectionHead(512, 64, 32))
    view_0, view_1 = two_views()
    criterion = NTXentLoss(temperature=0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.06)
    return Step(model, lambda: criterion(model(view_0), model(view_1)), optimizer)


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.projection_head = trunk(), BYOLProjectionHead(512, 64, 32)
        self.prediction_head = BYOLPredictionHead(32, 64, 32)
        self.backbone_momentum = copy.deepcopy(self.backbone)
        self.projection_head_momentum = copy.deepcopy(self.projection_head)
        deactivate_requires_grad(self.backbone_momentum)
        deactivate_requires_grad(self.projection_head_momentum)

    def forward(self, x):
        return self.prediction_head(self.projection_head(self.backbone(x)))

    def forward_momentum(self, x):
        return self.projection_head_momentum(self.backbone_momentum(x)).detach()


@case(library="lightly", source=LIGHTLY + "byol.py")
def byol_with_a_target_network():
    model, criterion = BYOL(), NegativeCosineSimilarity()
    x0, x1 = two_views()

    def compute():
        update_momentum(model.backbone, model.backbone_momentum, m=0.99)
        update_momentum(model.projection_head, model.projection_head_momentum, m=0.99)
        p0, z0 = model(x0), model.forward_momentum(x0)
        p1, z1 = model(x1), model.forward_momentum(x1)
        return 0.5 * (criterion(p0, z1) + criterion(p1, z0))

    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=0.06))


@case(library="lightly", source=LIGHTLY + "moco.py")
def moco_with_a_queue():
    query_network = nn.Sequential(trunk(), MoCoProjectionHead(512, 64, 32))
    key_network = copy.deepcopy(query_network)
    deactivate_requires_grad(key_network)
    criterion = NTXentLoss(memory_bank_size=(64, 32))
    x_query, x_key = two_views()

    def compute():
        update_momentum(query_network, key_network, m=0.99)
        return criterion(query_network(x_query), key_network(x_key).detach())

    model = nn.ModuleDict({"query": query_network, "key": key_network})
    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=0.06))


@case(library="lightly", source=LIGHTLY + "dino.py")
def dino_teacher_and_student():
    backbone = VisionTransformer(
        32, 8, embed_dim=48, depth=2, num_heads=3, num_classes=0, dynamic_img_size=True
    )
    student = nn.Sequential(backbone, DINOProjectionHead(48, 64, 16, 128, freeze_last_layer=1))
    teacher = nn.Sequential(copy.deepcopy(backbone), DINOProjectionHead(48, 64, 16, 128))
    deactivate_requires_grad(teacher)
    criterion = DINOLoss(output_dim=128, warmup_teacher_temp_epochs=5)
    views = [*two_views(), torch.randn(8, 3, 16, 16), torch.randn(8, 3, 16, 16)]

    def compute():
        update_momentum(student, teacher, m=0.996)
        teacher_out = [teacher(view) for view in views[:2]]
        return criterion(teacher_out, [student(view) for view in views], epoch=5)

    model = nn.ModuleDict({"student": student, "teacher": teacher})
    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-3))


@case(library="lightly", source=LIGHTLY + "simsiam.py")
def simsiam_with_stop_gradient():
    encoder = nn.Sequential(trunk(), SimSiamProjectionHead(512, 64, 32))
    predictor = SimSiamPredictionHead(32, 16, 32)
    criterion = NegativeCosineSimilarity()
    x0, x1 = two_views()

    def compute():
        z0, z1 = encoder(x0), encoder(x1)
        p0, p1 = predictor(z0), predictor(z1)
        return 0.5 * (criterion(z0.detach(), p1) + criterion(z1.detach(), p0))

    model = nn.ModuleDict({"encoder": encoder, "predictor": predictor})
    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=0.06))


@case(library="lightly", source=LIGHTLY + "barlowtwins.py")
def barlow_twins():
    model = nn.Sequential(trunk(), BarlowTwinsProjectionHead(512, 64, 64))
    x0, x1 = two_views()
    criterion = BarlowTwinsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return Step(model, lambda: criterion(model(x0), model(x1)), optimizer)


@case(library="lightly", source=LIGHTLY + "vicreg.py")
def vicreg():
    model = nn.Sequential(trunk(), VICRegProjectionHead(512, 64, 64, num_layers=2))
    x0, x1 = two_views()
    criterion = VICRegLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return Step(model, lambda: criterion(model(x0), model(x1)), optimizer)


@case(library="lightly", source=LIGHTLY + "swav.py")
def swav_with_prototypes():
    model = nn.Sequential(trunk(), SwaVProjectionHead(512, 64, 32))
    prototypes = SwaVPrototypes(32, n_prototypes=16)
    criterion = SwaVLoss()
    high_resolution, low_resolution = two_views(), [torch.randn(8, 3, 24, 24) for _ in range(2)]

    def compute():
        prototypes.normalize()
        high = [prototypes(F.normalize(model(x), dim=1)) for x in high_resolution]
        low = [prototypes(F.normalize(model(x), dim=1)) for x in low_resolution]
        return criterion(high, low)

    both = nn.ModuleDict({"model": model, "prototypes": prototypes})
    return Step(both, compute, torch.optim.Adam(both.parameters(), lr=1e-3))


class MAE(nn.Module):
    def __init__(self):
        super().__init__()
        vit = VisionTransformer(32, 8, embed_dim=48, depth=2, num_heads=3)
        self.backbone = MaskedVisionTransformerTIMM(vit=vit)
        self.decoder = MAEDecoderTIMM(
            num_patches=vit.patch_embed.num_patches, patch_size=8, embed_dim=48,
            decoder_embed_dim=32, decoder_depth=1, decoder_num_heads=2,
        )  # fmt: skip

    def forward(self, images):
        size = (len(images), self.backbone.sequence_length)
        idx_keep, idx_mask = utils.random_token_mask(size, mask_ratio=0.75)
        encoded = self.decoder.embed(self.backbone.encode(images=images, idx_keep=idx_keep))
        tokens = utils.repeat_token(self.decoder.mask_token, size)
        decoded = self.decoder.decode(utils.set_at_index(tokens, idx_keep, encoded))
        predicted = self.decoder.predict(utils.get_at_index(decoded, idx_mask))
        patches = utils.patchify(images, 8)
        return predicted, utils.get_at_index(patches, idx_mask - 1)


# timm's ViT brings a classifier, and the encoder a mask token, that nobody calls.
@case(library="lightly", source=LIGHTLY + "mae.py", true=[("none", "unused")])
def masked_autoencoder():
    model, images, criterion = MAE(), torch.randn(8, 3, 32, 32), nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-4)
    return Step(model, lambda: criterion(*model(images)), optimizer)


@case(library="transformers", source=TRANSFORMERS + "image-pretraining/run_mim.py")
def masked_image_modeling():
    config = ViTConfig(
        image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, encoder_stride=8,
    )  # fmt: skip
    model = ViTForMaskedImageModeling(config).train()
    images, masked = torch.randn(4, 3, 32, 32), torch.rand(4, 16) > 0.4
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)
    return Step(model, lambda: model(images, bool_masked_pos=masked).loss, optimizer)


@case(library="transformers", source=TRANSFORMERS + "contrastive-image-text/run_clip.py")
def clip_with_a_learned_temperature():
    layers = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2
    }  # fmt: skip
    text = CLIPTextConfig(vocab_size=100, max_position_embeddings=12, eos_token_id=99, **layers)
    vision = CLIPVisionConfig(image_size=32, patch_size=8, **layers)
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=24)
    model = CLIPModel(config).train()
    input_ids, attention_mask = torch.randint(1, 90, (6, 10)), torch.ones(6, 10, dtype=torch.long)
    for i, length in enumerate([10, 8, 5, 9, 4, 7]):
        input_ids[i, length - 1], input_ids[i, length:], attention_mask[i, length:] = 99, 0, 0
    images = torch.randn(6, 3, 32, 32)

    def compute():
        return model(input_ids, images, attention_mask=attention_mask, return_loss=True).loss

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.1))


def embedder():
    return nn.Sequential(trunk(), nn.Linear(512, 32)), torch.randn(16, 3, 32, 32)


@case(library="pytorch_metric_learning", source=TRIPLETS)
def triplet_loss_with_a_miner():
    model, images = embedder()
    labels = torch.arange(4).repeat(4)
    distance = distances.CosineSimilarity()
    criterion = losses.TripletMarginLoss(margin=0.2, distance=distance)
    mining = miners.TripletMarginMiner(margin=0.2, distance=distance, type_of_triplets="semihard")

    def compute():
        embeddings = model(images)
        return criterion(embeddings, labels, mining(embeddings, labels))

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-3))


@case(library="pytorch_metric_learning", source=METRIC + "arcface_loss/")
def arcface_with_two_optimizers():
    model, images = embedder()
    labels = torch.arange(4).repeat(4)
    criterion = losses.ArcFaceLoss(num_classes=10, embedding_size=32, margin=28.6, scale=64)
    loss_optimizer = torch.optim.SGD(criterion.parameters(), lr=0.01)

    def compute():
        loss_optimizer.step()  # the script does this at the end of the step before
        loss_optimizer.zero_grad()
        return criterion(model(images), labels)

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-4))


@case(library="pytorch_metric_learning", source=METRIC)
def contrastive_loss_across_batches():
    model, images = embedder()
    labels = torch.arange(4).repeat(4)
    criterion = losses.CrossBatchMemory(losses.ContrastiveLoss(), 32, memory_size=64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return Step(model, lambda: criterion(model(images), labels), optimizer)


@case(library="pytorch_metric_learning", source=METRIC + "proxy_anchor_loss/")
def proxy_anchor_and_multi_similarity():
    model, images = embedder()
    labels = torch.arange(4).repeat(4)
    proxies, pairs = losses.ProxyAnchorLoss(10, 32), losses.MultiSimilarityLoss()
    groups = [{"params": model.parameters()}, {"params": proxies.parameters(), "lr": 1e-2}]

    def compute():
        embeddings = model(images)
        return proxies(embeddings, labels) + pairs(embeddings, labels)

    both = nn.ModuleDict({"model": model, "proxies": proxies})
    return Step(both, compute, torch.optim.AdamW(groups, lr=1e-4))
