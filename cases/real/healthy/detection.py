"""Boxes, masks and key points: detection and segmentation of torchvision, transformers and smp."""

# isort: split
import segmentation_models_pytorch as smp
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn
from torch.nn import functional as F
from torchvision import models
from torchvision.models import detection
from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
from torchvision.models.detection.backbone_utils import BackboneWithFPN
from torchvision.models.resnet import BasicBlock, ResNet
from torchvision.ops import FrozenBatchNorm2d, generalized_box_iou, sigmoid_focal_loss
from transformers import (
    DetrConfig,
    DetrForObjectDetection,
    Mask2FormerConfig,
    Mask2FormerForUniversalSegmentation,
    ResNetConfig,
    SegformerConfig,
    SegformerForSemanticSegmentation,
    SwinConfig,
)

from cases.case import Step, case

TORCHVISION = "https://github.com/pytorch/vision/blob/main/references/detection/train.py"
SEGMENTATION = "https://github.com/pytorch/vision/blob/main/references/segmentation/train.py"
SMP = "https://github.com/qubvel-org/segmentation_models.pytorch/blob/main/examples/"
CENTERNET = "https://github.com/xingyizhou/CenterNet/blob/master/src/lib/models/losses.py"
POSES = "https://github.com/microsoft/human-pose-estimation.pytorch/blob/master/lib/core/loss.py"


def photographs():
    """Two images, three boxes on the first and one on the second."""
    images = [torch.rand(3, 64, 64), torch.rand(3, 64, 64)]
    boxes = torch.tensor([[4.0, 4, 28, 30], [20, 30, 60, 62], [35, 2, 60, 25]])
    targets = [
        {"boxes": boxes, "labels": torch.tensor([1, 2, 1])},
        {"boxes": boxes[1:2] - 3.0, "labels": torch.tensor([3])},
    ]
    return images, targets


def pyramid(norm_layer=nn.BatchNorm2d):
    trunk = ResNet(BasicBlock, [1, 1, 1, 1], norm_layer=norm_layer)
    return BackboneWithFPN(
        trunk, {"layer2": "0", "layer3": "1", "layer4": "2"}, [128, 256, 512], 32
    )


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


def masks(n=2, size=64, classes=4):
    """Labels of pixels; the border between two objects is 255, as in Pascal VOC."""
    labels = torch.randint(classes, (n, size, size))
    labels[:, :, size // 2] = 255
    return torch.randn(n, 3, size, size), labels


@case(library="torchvision", source=TORCHVISION)
def retinanet_with_a_frozen_stem():
    backbone = pyramid(FrozenBatchNorm2d)
    for parameter in [*backbone.body.conv1.parameters(), *backbone.body.layer1.parameters()]:
        parameter.requires_grad_(False)
    anchors = AnchorGenerator(((8,), (16,), (32,), (48,)), ((0.5, 1.0, 2.0),) * 4)
    model = detection.RetinaNet(
        backbone, num_classes=4, min_size=64, max_size=64, anchor_generator=anchors
    )
    images, targets = photographs()
    optimizer = torch.optim.SGD(trainable(model), lr=0.005, momentum=0.9, weight_decay=1e-4)
    return Step(model, lambda: sum(model(images, targets).values()), optimizer)


@case(library="torchvision", source=TORCHVISION)
def fcos():
    anchors = AnchorGenerator(((8,), (16,), (32,), (48,)), ((1.0,),) * 4)
    model = detection.FCOS(
        pyramid(), num_classes=4, min_size=64, max_size=64, anchor_generator=anchors
    )
    images, targets = photographs()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9, weight_decay=1e-4)
    return Step(model, lambda: sum(model(images, targets).values()), optimizer)


@case(library="torchvision", source=TORCHVISION)
def ssd_with_hard_negative_mining():
    trunk = ResNet(BasicBlock, [1, 1, 1, 1])
    layers = {"layer2": "0", "layer3": "1", "layer4": "2"}
    backbone = models._utils.IntermediateLayerGetter(trunk, layers)
    anchors = DefaultBoxGenerator([[2], [2, 3], [2]], scales=[0.1, 0.3, 0.6, 0.9])
    model = detection.ssd.SSD(backbone, anchors, size=(64, 64), num_classes=4)
    images, targets = photographs()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9, weight_decay=5e-4)
    return Step(model, lambda: sum(model(images, targets).values()), optimizer)


class DETRdemo(nn.Module):
    def __init__(self, classes=4, width=32, queries=6):
        super().__init__()
        self.backbone = ResNet(BasicBlock, [1, 1, 1, 1])
        del self.backbone.fc
        self.conv = nn.Conv2d(512, width, 1)
        self.transformer = nn.Transformer(width, 4, 1, 1, 64, dropout=0.1)
        self.linear_class, self.linear_bbox = nn.Linear(width, classes + 1), nn.Linear(width, 4)
        self.query_pos = nn.Parameter(torch.rand(queries, width))
        self.row_embed = nn.Parameter(torch.rand(8, width // 2))
        self.col_embed = nn.Parameter(torch.rand(8, width // 2))

    def forward(self, x):
        b = self.backbone
        x = b.maxpool(b.relu(b.bn1(b.conv1(x))))
        h = self.conv(b.layer4(b.layer3(b.layer2(b.layer1(x)))))
        n, _, height, width = h.shape
        columns = self.col_embed[:width].unsqueeze(0).repeat(height, 1, 1)
        rows = self.row_embed[:height].unsqueeze(1).repeat(1, width, 1)
        pos = torch.cat([columns, rows], dim=-1).flatten(0, 1).unsqueeze(1)
        queries = self.query_pos.unsqueeze(1).repeat(1, n, 1)
        h = self.transformer(pos + 0.1 * h.flatten(2).permute(2, 0, 1), queries).transpose(0, 1)
        return self.linear_class(h), self.linear_bbox(h).sigmoid()


def corners(boxes):
    center, size = boxes.split(2, dim=-1)
    return torch.cat([center - size / 2, center + size / 2], dim=-1)


@case(
    library="torchvision",
    source="https://github.com/facebookresearch/detr/blob/main/models/matcher.py",
)
def detr_demo_with_pairwise_matching():
    model = DETRdemo()
    images = torch.rand(2, 3, 64, 64)
    boxes = [torch.tensor([[0.3, 0.3, 0.2, 0.3], [0.7, 0.6, 0.4, 0.3]]), torch.full((1, 4), 0.5)]
    labels = [torch.tensor([0, 2]), torch.tensor([1])]
    weight = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.1])  # the last class: no object

    def compute():
        logits, predicted = model(images)
        loss = 0.0
        for i in range(2):
            with torch.no_grad():
                cost = torch.cdist(predicted[i], boxes[i], p=1) * 5
                cost = cost - logits[i].softmax(-1)[:, labels[i]]
                cost = cost - 2 * generalized_box_iou(corners(predicted[i]), corners(boxes[i]))
            rows, columns = map(torch.as_tensor, linear_sum_assignment(cost))
            classes = torch.full((len(logits[i]),), 4)
            classes[rows] = labels[i][columns]
            matched, target = predicted[i][rows], boxes[i][columns]
            iou = generalized_box_iou(corners(matched), corners(target)).diag()
            loss = loss + F.cross_entropy(logits[i], classes, weight)
            loss = loss + 5 * F.l1_loss(matched, target) + 2 * (1 - iou).mean()
        return loss

    backbone = [p for n, p in model.named_parameters() if n.startswith("backbone")]
    rest = [p for n, p in model.named_parameters() if not n.startswith("backbone")]
    groups = [{"params": rest}, {"params": backbone, "lr": 1e-5}]
    return Step(model, compute, torch.optim.AdamW(groups, lr=1e-4, weight_decay=1e-4))


@case(
    library="transformers", source="https://huggingface.co/docs/transformers/tasks/object_detection"
)
def detr_with_auxiliary_losses():
    backbone = ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic",
        out_features=["stage2"],
    )  # fmt: skip
    config = DetrConfig(
        use_timm_backbone=False, backbone=None, backbone_config=backbone, num_queries=5, d_model=32,
        encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=64, decoder_ffn_dim=64, num_labels=4, auxiliary_loss=True,
    )  # fmt: skip
    model = DetrForObjectDetection(config).train()
    pixel_values = torch.randn(2, 3, 64, 64)
    pixel_mask = torch.ones(2, 64, 64, dtype=torch.long)
    pixel_mask[1, :, 48:] = 0  # the second image is narrower
    labels = [
        {"class_labels": torch.tensor([0, 3]), "boxes": torch.tensor([[0.3] * 4, [0.6] * 4])},
        {"class_labels": torch.tensor([2]), "boxes": torch.full((1, 4), 0.4)},
    ]

    def compute():
        return model(pixel_values=pixel_values, pixel_mask=pixel_mask, labels=labels).loss

    return Step(model, compute, torch.optim.AdamW(trainable(model), lr=5e-5))


# The last LayerNorm of Swin is computed, but Mask2Former takes the maps before it.
@case(
    library="transformers",
    source="https://huggingface.co/docs/transformers/model_doc/mask2former",
    true=[("none", "dead-branch")],
)
def mask2former():
    backbone = SwinConfig(
        image_size=64, patch_size=4, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2],
        window_size=4, out_features=["stage1", "stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = Mask2FormerConfig(
        backbone_config=backbone, feature_size=32, mask_feature_size=32, hidden_dim=32,
        encoder_feedforward_dim=32, dim_feedforward=32, encoder_layers=1, decoder_layers=2,
        num_attention_heads=2, num_queries=5, num_labels=3, train_num_points=64,
    )  # fmt: skip
    model = Mask2FormerForUniversalSegmentation(config).train()
    pixel_values = torch.randn(2, 3, 64, 64)
    mask_labels = [(torch.rand(2, 64, 64) > 0.7).float(), (torch.rand(1, 64, 64) > 0.5).float()]
    class_labels = [torch.tensor([0, 2]), torch.tensor([1])]

    def compute():
        return model(pixel_values, mask_labels=mask_labels, class_labels=class_labels).loss

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-4))


@case(
    library="transformers",
    source="https://huggingface.co/docs/transformers/tasks/semantic_segmentation",
)
def segformer_with_ignored_pixels():
    config = SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32], num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=32, num_labels=4, semantic_loss_ignore_index=255,
    )  # fmt: skip
    model = SegformerForSemanticSegmentation(config).train()
    images, labels = masks()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-5)
    return Step(model, lambda: model(pixel_values=images, labels=labels).loss, optimizer)


@case(library="torchvision", source=SEGMENTATION)
def fcn_with_auxiliary_head_and_ignored_pixels():
    backbone = models._utils.IntermediateLayerGetter(
        ResNet(BasicBlock, [1, 1, 1, 1]), {"layer4": "out", "layer3": "aux"}
    )
    head, auxiliary = (models.segmentation.fcn.FCNHead(c, 4) for c in (512, 256))
    model = models.segmentation.FCN(backbone, head, auxiliary)
    images, labels = masks()
    groups = [
        {"params": model.backbone.parameters()},
        {"params": model.classifier.parameters()},
        {"params": model.aux_classifier.parameters(), "lr": 0.1},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9, weight_decay=1e-4)

    def compute():
        losses = {
            name: F.cross_entropy(x, labels, ignore_index=255) for name, x in model(images).items()
        }
        return losses["out"] + 0.5 * losses["aux"]

    return Step(model, compute, optimizer)


@case(library="torchvision", source=SEGMENTATION)
def lraspp_mobilenet():
    model = models.segmentation.lraspp_mobilenet_v3_large(num_classes=4, weights_backbone=None)
    images, labels = masks(n=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def compute():
        return F.cross_entropy(model(images)["out"], labels, ignore_index=255)

    return Step(model, compute, optimizer)


@case(library="segmentation_models_pytorch", source=SMP + "binary_segmentation_intro.ipynb")
def fpn_with_dice_loss():
    model = smp.FPN("mobilenet_v2", encoder_weights=None, in_channels=3, classes=1)
    images, labels = torch.randn(2, 3, 64, 64), (torch.rand(2, 1, 64, 64) > 0.6).long()
    criterion = smp.losses.DiceLoss(smp.losses.BINARY_MODE, from_logits=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    return Step(model, lambda: criterion(model(images), labels), optimizer)


@case(library="segmentation_models_pytorch", source=SMP + "camvid_segmentation_multiclass.ipynb")
def unet_multiclass_dice_with_ignored_pixels():
    model = smp.Unet("timm-mobilenetv3_small_100", encoder_weights=None, classes=4)
    images, labels = masks()
    criterion = smp.losses.DiceLoss(smp.losses.MULTICLASS_MODE, from_logits=True, ignore_index=255)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    return Step(model, lambda: criterion(model(images), labels), optimizer)


@case(
    library="segmentation_models_pytorch", source="https://smp.readthedocs.io/en/latest/models.html"
)
def deeplab_with_class_head():
    auxiliary = {"pooling": "avg", "dropout": 0.5, "classes": 4}
    model = smp.DeepLabV3Plus("mobilenet_v2", encoder_weights=None, classes=4, aux_params=auxiliary)
    images, labels = masks(n=4)
    present = torch.stack([(labels == c).flatten(1).any(1) for c in range(4)], dim=1).float()
    criterion = smp.losses.FocalLoss(smp.losses.MULTICLASS_MODE, ignore_index=255)

    def compute():
        mask, label = model(images)
        return criterion(mask, labels) + F.binary_cross_entropy_with_logits(label, present)

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-3))


@case(library="torchvision", source=POSES)
def key_points_from_heat_maps():
    trunk = ResNet(BasicBlock, [1, 1, 1, 1])
    model = nn.Sequential(
        trunk.conv1, trunk.bn1, trunk.relu, trunk.maxpool, trunk.layer1, trunk.layer2,
        nn.ConvTranspose2d(128, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
        nn.Conv2d(32, 5, 1),
    )  # fmt: skip
    images = torch.randn(4, 3, 64, 64)
    rows, columns = torch.randint(16, (4, 5, 1)), torch.randint(16, (4, 5, 1))
    grid = torch.arange(16)
    near = (grid - rows).pow(2)[..., :, None] + (grid - columns).pow(2)[..., None, :]
    heatmaps = torch.exp(-near / 8.0)
    visible = (torch.rand(4, 5, 1, 1) > 0.2).float()  # a hidden joint does not count

    def compute():
        return 0.5 * F.mse_loss(model(images) * visible, heatmaps * visible)

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-3))


@case(library="torchvision", source=CENTERNET)
def centers_with_focal_loss():
    trunk = models.mobilenet_v2().features[:7]
    heads = nn.ModuleDict({"center": nn.Conv2d(32, 3, 1), "size": nn.Conv2d(32, 2, 1)})
    nn.init.constant_(heads["center"].bias, -2.19)
    model = nn.ModuleDict({"trunk": trunk, "heads": heads})
    images, centers = torch.randn(2, 3, 64, 64), torch.zeros(2, 3, 8, 8)
    centers[0, 1, 2, 5] = centers[1, 0, 6, 3] = 1.0
    sizes = torch.rand(2, 2, 8, 8) * 4
    objects = centers.sum(dim=1, keepdim=True)

    def compute():
        features = model["trunk"](images)
        focal = sigmoid_focal_loss(heads["center"](features), centers, reduction="sum")
        size = (F.l1_loss(heads["size"](features), sizes, reduction="none") * objects).sum()
        return (focal + 0.1 * size) / objects.sum()

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1.25e-4))
