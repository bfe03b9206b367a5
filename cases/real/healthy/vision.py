"""Image classifiers of torchvision and timm, with the training habits of their own scripts."""

# isort: split
import timm
import torch
from timm.data import Mixup
from timm.loss import BinaryCrossEntropy, LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.utils import ModelEmaV3
from torch import nn
from torch.nn import functional as F
from torchvision import models
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

from cases.case import Step, case

TORCHVISION = "https://github.com/pytorch/vision/blob/main/references/classification/train.py"
TIMM = "https://github.com/huggingface/pytorch-image-models/blob/main/train.py"
DEIT = "https://github.com/facebookresearch/deit/blob/main/losses.py"


def batch(n=4, size=32, classes=10):
    return torch.randn(n, 3, size, size), torch.randint(classes, (n,))


@case(library="torchvision", source=TORCHVISION)
def resnet_with_batchnorm():
    model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)
    images, labels = batch(8)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    return Step(model, lambda: criterion(model(images), labels), optimizer)


@case(library="torchvision", source=TORCHVISION)
def resnet_zero_init_residual():
    model = ResNet(Bottleneck, [1, 1, 1, 1], num_classes=10, zero_init_residual=True)
    images, labels = batch(8)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    norms = [p for m in model.modules() if isinstance(m, nn.BatchNorm2d) for p in m.parameters()]
    others = [p for p in model.parameters() if not any(p is q for q in norms)]
    groups = [{"params": others, "weight_decay": 2e-5}, {"params": norms, "weight_decay": 0.0}]
    optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9, nesterov=True)
    return Step(model, lambda: criterion(model(images), labels), optimizer)


@case(library="timm", source=TIMM)
def vgg_with_dropout():
    layers = [16, "M", 32, "M", 64, 64, "M"]
    model = timm.models.vgg.VGG(layers, num_classes=10, mlp_ratio=0.05, drop_rate=0.5)
    images, labels = batch()
    optimizer = create_optimizer_v2(model, opt="sgd", lr=0.01, momentum=0.9, weight_decay=5e-4)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="torchvision", source=TORCHVISION)
def mobilenet_v3_with_squeeze_excite():
    model = models.mobilenet_v3_small(num_classes=10)
    images, labels = batch(8, size=64)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(
        model.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-5, eps=0.0316, alpha=0.9
    )
    return Step(model, lambda: criterion(model(images), labels), optimizer)


@case(library="timm", source=TIMM)
def efficientnet_with_ema():
    model = timm.create_model("efficientnet_lite0", num_classes=10, drop_rate=0.2)
    averaged = ModelEmaV3(model, decay=0.9998)
    images, labels = batch(8, size=64)
    criterion = LabelSmoothingCrossEntropy(smoothing=0.1)

    def compute():
        averaged.update(model)  # the script does this at the end of the step before
        return criterion(model(images), labels)

    return Step(model, compute, create_optimizer_v2(model, opt="rmsproptf", lr=1e-3))


@case(library="timm", source=TIMM)
def efficientnet_with_squeeze_excite_and_stochastic_depth():
    model = timm.create_model("efficientnet_b0", num_classes=10, drop_rate=0.2, drop_path_rate=0.2)
    images, labels = batch(8, size=64)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=1e-5)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="timm", source="https://github.com/facebookresearch/ConvNeXt/blob/main/main.py")
def convnext_with_layer_scale_and_mixup():
    model = timm.create_model(
        "convnext_tiny", num_classes=10, depths=(1, 1, 2, 1), dims=(16, 24, 32, 48)
    )
    mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=10)
    images, targets = mixup(*batch(8, size=64))
    criterion = SoftTargetCrossEntropy()
    optimizer = create_optimizer_v2(model, opt="adamw", lr=4e-3, weight_decay=0.05)
    return Step(model, lambda: criterion(model(images), targets), optimizer)


@case(library="timm", source="https://github.com/facebookresearch/deit/blob/main/main.py")
def cait():
    model = timm.create_model(
        "cait_xxs24_224", num_classes=10, img_size=32, patch_size=8, embed_dim=48, depth=4,
        num_heads=4, drop_path_rate=0.05,
    )  # fmt: skip
    images, labels = batch()
    criterion = LabelSmoothingCrossEntropy(smoothing=0.1)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=5e-4, weight_decay=0.05)
    return Step(model, lambda: criterion(model(images), labels), optimizer)


@case(library="torchvision", source=TORCHVISION)
def vit_with_a_zero_head():
    model = models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=3, num_heads=2, hidden_dim=32, mlp_dim=64,
        dropout=0.1, num_classes=10,
    )  # fmt: skip
    images, labels = batch()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.11)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.3)

    def compute():
        with torch.autocast("cpu", torch.bfloat16):
            return criterion(model(images), labels)

    return Step(model, compute, optimizer)


@case(library="timm", source=TIMM)
def vit_with_gradient_checkpointing():
    model = timm.create_model(
        "vit_tiny_patch16_224", num_classes=10, img_size=32, patch_size=8, embed_dim=48, depth=3
    )
    model.set_grad_checkpointing()
    images, labels = batch()
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="timm", source=DEIT)
def deit_distilled_from_a_regnet():
    model = timm.create_model(
        "deit_tiny_distilled_patch16_224", num_classes=10, img_size=32, patch_size=8, embed_dim=48,
        depth=3,
    )  # fmt: skip
    model.set_distilled_training(True)
    teacher = timm.create_model("regnetx_002", num_classes=10).eval()
    images, labels = batch()
    criterion = LabelSmoothingCrossEntropy()

    def compute():
        output, distilled = model(images)
        with torch.no_grad():
            teacher_labels = teacher(images).argmax(dim=1)
        return 0.5 * criterion(output, labels) + 0.5 * F.cross_entropy(distilled, teacher_labels)

    return Step(model, compute, create_optimizer_v2(model, opt="adamw", lr=5e-4, weight_decay=0.05))


@case(library="timm", source="https://github.com/microsoft/Swin-Transformer/blob/main/main.py")
def swin_with_accumulated_gradients():
    model = timm.create_model(
        "swin_tiny_patch4_window7_224", num_classes=10, img_size=32, patch_size=2, window_size=4,
        embed_dim=24, depths=(2, 2), num_heads=(2, 4), drop_path_rate=0.2,
    )  # fmt: skip
    images, labels = batch()
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)

    def compute():
        with torch.autocast("cpu", torch.bfloat16):
            output = model(images)
        return F.cross_entropy(output.float(), labels) / 4  # of four batches for one step

    return Step(model, compute, optimizer)


@case(library="timm", source=TIMM)
def nfnet_without_normalization():
    config = timm.models.nfnet.NfCfg(
        depths=(1, 1, 2, 1), channels=(16, 32, 64, 64), stem_type="deep_quad", stem_chs=16,
        attn_layer="se", attn_kwargs={"rd_ratio": 0.5}, group_size=8, bottle_ratio=0.5,
        extra_conv=True, num_features=128, gamma_in_act=True, same_padding=True, skipinit=True,
        act_layer="gelu",
    )  # fmt: skip
    model = timm.models.nfnet.NormFreeNet(config, num_classes=10, drop_rate=0.2)
    images, labels = batch(size=64)
    optimizer = create_optimizer_v2(model, opt="sgd", lr=0.05, momentum=0.9, weight_decay=2e-5)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="timm", source=TIMM)
def mlp_mixer():
    model = timm.models.mlp_mixer.MlpMixer(
        num_classes=10, img_size=32, patch_size=8, embed_dim=48, num_blocks=3
    )
    images, labels = batch()
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.1)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="torchvision", source=TORCHVISION)
def regnet_in_channels_last():
    model = models.regnet_y_400mf(num_classes=10).to(memory_format=torch.channels_last)
    images, labels = batch(8, size=64)
    images = images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=5e-5)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="torchvision", source=TORCHVISION)
def maxvit():
    model = models.MaxVit(
        input_size=(64, 64), stem_channels=16, partition_size=4, block_channels=[16, 32],
        block_layers=[1, 2], head_dim=8, stochastic_depth_prob=0.2, num_classes=10,
    )  # fmt: skip
    images, labels = batch(size=64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="timm", source=TIMM)
def coatnet():
    model = timm.create_model(
        "coatnet_pico_rw_224", num_classes=10, img_size=64, depths=(1, 1, 1, 1),
        embed_dim=(32, 32, 64, 64), stem_width=(16, 16),
    )  # fmt: skip
    images, labels = batch(size=64)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(
    library="torchvision",
    source="https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html",
)
def frozen_resnet_with_a_new_head():
    model = models.resnet18()
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, 2)
    images, labels = batch(size=64, classes=2)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.01, momentum=0.9)
    return Step(model, lambda: criterion(model(images), labels), optimizer)


@case(
    library="torchvision",
    source="https://docs.pytorch.org/tutorials/beginner/knowledge_distillation_tutorial.html",
)
def knowledge_distillation():
    teacher = ResNet(BasicBlock, [2, 2, 1, 1], num_classes=10).eval()
    student = models.shufflenet_v2_x0_5(num_classes=10)
    images, labels = batch(8)
    temperature = 2

    def compute():
        with torch.no_grad():
            teacher_logits = teacher(images)
        student_logits = student(images)
        soft_targets = F.softmax(teacher_logits / temperature, dim=-1)
        soft_prob = F.log_softmax(student_logits / temperature, dim=-1)
        soft_loss = F.kl_div(soft_prob, soft_targets, reduction="batchmean") * temperature**2
        return 0.25 * soft_loss + 0.75 * F.cross_entropy(student_logits, labels)

    return Step(student, compute, torch.optim.Adam(student.parameters(), lr=1e-3))


@case(library="torchvision", source=TORCHVISION)
def densenet_that_recomputes_its_batchnorms():
    model = models.DenseNet(
        growth_rate=8, block_config=(2, 2, 2), num_init_features=16, bn_size=2, num_classes=10,
        memory_efficient=True,
    )  # fmt: skip
    images, labels = batch(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="torchvision", source="https://arxiv.org/abs/1409.4842")
def googlenet_with_auxiliary_losses():
    model = models.GoogLeNet(num_classes=10, aux_logits=True, init_weights=False)
    images, labels = batch(size=64)

    def compute():
        output = model(images)
        auxiliary = F.cross_entropy(output.aux_logits1, labels)
        auxiliary = auxiliary + F.cross_entropy(output.aux_logits2, labels)
        return F.cross_entropy(output.logits, labels) + 0.3 * auxiliary

    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))


@case(library="timm", source="https://arxiv.org/abs/2110.00476")
def resnet_strikes_back():
    model = timm.models.ResNet(
        timm.models.resnet.Bottleneck, [1, 1, 1, 1], channels=(16, 32, 32, 64), num_classes=10,
        drop_path_rate=0.05,
    )  # fmt: skip
    mixup = Mixup(mixup_alpha=0.1, cutmix_alpha=1.0, label_smoothing=0.0, num_classes=10)
    images, targets = mixup(*batch(8))
    criterion = BinaryCrossEntropy(target_threshold=0.2)
    optimizer = create_optimizer_v2(model, opt="lamb", lr=5e-3, weight_decay=0.01)
    return Step(model, lambda: criterion(model(images), targets), optimizer)


@case(
    library="timm",
    source="https://github.com/microsoft/unilm/blob/master/beit/run_class_finetuning.py",
)
def beit_with_layerwise_learning_rates():
    model = timm.create_model(
        "beit_base_patch16_224", num_classes=10, img_size=32, patch_size=8, embed_dim=48, depth=3,
        num_heads=3, drop_path_rate=0.1,
    )  # fmt: skip
    images, labels = batch()
    optimizer = create_optimizer_v2(
        model, opt="adamw", lr=4e-3, weight_decay=0.05, layer_decay=0.65
    )
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(
    library="timm",
    source="https://docs.pytorch.org/tutorials/intermediate/torch_compile_full_example.html",
)
def compiled_vit():
    model = timm.create_model("test_vit", num_classes=10, img_size=32, depth=1)
    compiled = torch.compile(model, backend="aot_eager")
    images, labels = batch(8)
    optimizer = torch.optim.Adam(model.parameters())
    return Step(compiled, lambda: F.cross_entropy(compiled(images), labels), optimizer)
