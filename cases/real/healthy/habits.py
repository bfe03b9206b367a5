"""Habits of training scripts: frameworks, several losses, heads or optimizers, averaged models."""

import copy

import higher
import lightning
import monai
import timm
import torch
import torchvision
import transformers as tf
from accelerate import Accelerator
from pytorch_metric_learning import losses
from pytorch_revgrad import RevGrad
from timm.utils import ModelEmaV3, freeze
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torchvision.transforms import v2

from cases.case import Step, case


def sgd(model, lr=0.01):
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def adam(model, lr=1e-3):
    return torch.optim.Adam(model.parameters(), lr=lr)


def photos(n=4, classes=5):
    return torch.randn(n, 3, 32, 32), torch.randint(0, classes, (n,))


def small_vit(classes=5):
    return timm.create_model(
        "vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, num_classes=classes
    )


def small_bert(**options):
    return tf.BertConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=32, **options,
    )  # fmt: skip


class LitAutoEncoder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64))

    def training_step(self, batch, batch_idx):
        x, _ = batch
        x = x.view(x.size(0), -1)
        return F.mse_loss(self.decoder(self.encoder(x)), x)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


@case(
    library="lightning", source="https://lightning.ai/docs/pytorch/stable/starter/introduction.html"
)
def lightning_training_step():
    model = LitAutoEncoder()
    batch = torch.rand(8, 1, 8, 8), torch.randint(0, 10, (8,))
    return Step(model, lambda: model.training_step(batch, 0), model.configure_optimizers())


@case(
    library="accelerate", source="https://huggingface.co/docs/accelerate/basic_tutorials/migration"
)
def accelerate_prepared():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = small_vit()
    model, optimizer = accelerator.prepare(model, adam(model))
    images, labels = photos()
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer.optimizer)


@case(
    library="transformers", source="https://huggingface.co/docs/transformers/main_classes/trainer"
)
def trainer_compute_loss():
    model = tf.AutoModelForSequenceClassification.from_config(small_bert(num_labels=3))
    arguments = tf.TrainingArguments(
        use_cpu=True, report_to=[], save_strategy="no", label_smoothing_factor=0.1
    )
    trainer = tf.Trainer(model=model, args=arguments)
    batch = {"input_ids": torch.randint(3, 100, (4, 10)), "labels": torch.tensor([0, 1, 2, 1])}
    trainer.create_optimizer()
    return Step(model, lambda: trainer.compute_loss(model, dict(batch)), trainer.optimizer)


@case(library="timm", source="https://docs.pytorch.org/docs/stable/notes/amp_examples.html")
def accumulated_gradients():
    """One of four small batches: the loss is divided, the step comes later."""
    model = timm.create_model("resnet18", num_classes=5)
    images, labels = photos()
    return Step(model, lambda: F.cross_entropy(model(images), labels) / 4, sgd(model))


@case(library="timm", source="https://docs.pytorch.org/docs/stable/amp.html")
def scaled_loss_on_the_cpu():
    model, scaler = small_vit(), torch.amp.GradScaler("cpu")
    images, labels = photos()

    def compute():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        return scaler.scale(loss)

    return Step(model, compute, adam(model))


@case(
    library="timm",
    source="https://docs.pytorch.org/vision/stable/auto_examples/transforms/plot_cutmix_mixup.html",
)
def mixup_and_dropped_paths():
    model = timm.create_model("resnet18", num_classes=5, drop_rate=0.1, drop_path_rate=0.1)
    images, soft = v2.MixUp(num_classes=5)(*photos(8))
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    return Step(model, lambda: loss_fn(model(images), soft), sgd(model, lr=0.05))


@case(
    library="timm", source="https://github.com/huggingface/pytorch-image-models/blob/main/train.py"
)
def exponential_moving_average():
    """The script holds both; only the trained one is in the optimizer."""
    model = small_vit()
    both = nn.ModuleDict({"model": model, "average": ModelEmaV3(model, decay=0.99)})
    images, labels = photos()
    return Step(both, lambda: F.cross_entropy(model(images), labels), adam(model))


@case(
    library="timm",
    source="https://docs.pytorch.org/docs/stable/optim.html#putting-it-all-together-ema",
)
def mean_teacher():
    """The averaged model gives soft labels for images without labels."""
    student = small_vit()
    teacher = AveragedModel(student, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    images, labels = photos()
    others = torch.randn(4, 3, 32, 32)

    def compute():
        with torch.no_grad():
            goal = teacher(others).softmax(-1)
        noisy = others + 0.1 * torch.randn_like(others)
        agreement = F.mse_loss(student(noisy).softmax(-1), goal)
        return F.cross_entropy(student(images), labels) + agreement

    both = nn.ModuleDict({"student": student, "teacher": teacher})
    return Step(both, compute, adam(student))


@case(
    library="timm",
    source="https://docs.pytorch.org/tutorials/beginner/knowledge_distillation_tutorial.html",
)
def distillation():
    teacher, student = timm.create_model("resnet18", num_classes=5).eval(), small_vit()
    images, labels = photos()

    def compute():
        with torch.no_grad():
            soft = F.softmax(teacher(images) / 2, dim=-1)
        logits = student(images)
        log_probs = F.log_softmax(logits / 2, dim=-1)
        soft_loss = torch.sum(soft * (soft.log() - log_probs)) / len(images) * 4
        return 0.25 * soft_loss + 0.75 * F.cross_entropy(logits, labels)

    both = nn.ModuleDict({"teacher": teacher, "student": student})
    return Step(both, compute, adam(student))


@case(library="transformers", source="https://arxiv.org/abs/1901.11504")
def two_tasks_one_in_this_batch():
    """MT-DNN: each batch is of one task, and the head of the other is not used."""
    model = nn.ModuleDict({"body": tf.AutoModel.from_config(small_bert(), add_pooling_layer=False)})
    model["entailment"], model["similarity"] = nn.Linear(32, 3), nn.Linear(32, 1)
    ids, labels = torch.randint(3, 100, (4, 10)), torch.tensor([0, 2, 1, 1])

    def compute():
        first = model["body"](input_ids=ids).last_hidden_state[:, 0]
        return F.cross_entropy(model["entailment"](first), labels)

    return Step(model, compute, torch.optim.Adamax(model.parameters(), lr=1e-3))


@case(library="timm", source="https://arxiv.org/abs/1705.07115")
def losses_weighted_by_uncertainty():
    """Two losses, and a weight for each that is trained, too."""
    model = nn.ModuleDict({"body": timm.create_model("resnet18", num_classes=0)})
    model["kind"], model["depth"] = nn.Linear(512, 5), nn.Linear(512, 1)
    model["weights"] = nn.ParameterDict({"kind": torch.zeros(()), "depth": torch.zeros(())})
    (images, labels), depth = photos(), torch.rand(4, 1)

    def compute():
        features, weights = model["body"](images), model["weights"]
        kind = F.cross_entropy(model["kind"](features), labels)
        far = F.mse_loss(model["depth"](features), depth)
        weighted = torch.exp(-weights["kind"]) * kind + 0.5 * torch.exp(-weights["depth"]) * far
        return weighted + 0.5 * (weights["kind"] + weights["depth"])

    return Step(model, compute, adam(model))


@case(
    library="pytorch_metric_learning",
    source="https://kevinmusgrave.github.io/pytorch-metric-learning/losses/#contrastiveloss",
)
def siamese_pairs():
    """One network sees both pictures of a pair."""
    model = timm.create_model("resnet18", num_classes=16)
    left, right = torch.randn(6, 3, 32, 32), torch.randn(6, 3, 32, 32)
    kinds = torch.tensor([0, 0, 1, 1, 2, 2])
    loss_fn = losses.ContrastiveLoss(pos_margin=0, neg_margin=1)

    def compute():
        return loss_fn(model(left), kinds, ref_emb=model(right), ref_labels=kinds)

    return Step(model, compute, adam(model))


@case(
    library="torchvision",
    source="https://github.com/pytorch/vision/blob/main/references/segmentation/train.py",
)
def auxiliary_head():
    """The weight 0.5 for the auxiliary output, as in torchvision's reference script."""
    model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=4, aux_loss=True
    )
    images, masks = torch.randn(2, 3, 48, 48), torch.randint(0, 4, (2, 48, 48))
    masks[:, :4] = 255

    def compute():
        out = model(images)
        main = F.cross_entropy(out["out"], masks, ignore_index=255)
        return main + 0.5 * F.cross_entropy(out["aux"], masks, ignore_index=255)

    return Step(model, compute, sgd(model))


@case(
    library="torchvision",
    source="https://docs.pytorch.org/tutorials/advanced/neural_style_tutorial.html",
)
def style_of_a_picture():
    """LBFGS changes the picture; the network is frozen."""
    features = torchvision.models.squeezenet1_1(weights=None).features[:5].eval()
    features.requires_grad_(False)
    model = nn.ParameterDict({"picture": torch.rand(1, 3, 32, 32)})
    content, style = features(torch.rand(1, 3, 32, 32)), features(torch.rand(1, 3, 32, 32))

    def gram(x):
        x = x.flatten(2)
        return x @ x.transpose(1, 2) / x.numel()

    def compute():
        seen = features(model["picture"])
        return F.mse_loss(seen, content) + 1e6 * F.mse_loss(gram(seen), gram(style))

    return Step(model, compute, torch.optim.LBFGS(model.parameters(), max_iter=4))


@case(
    library="monai", source="https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html"
)
def discriminator_with_spectral_norm():
    """The fake pictures are detached: this step trains the discriminator alone."""
    model = nn.ModuleDict({"make": monai.networks.nets.Generator(8, (8, 4, 4), (8, 1), (2, 2))})
    judge = monai.networks.nets.Discriminator((1, 16, 16), (8, 16), (2, 2), last_act=None)
    for module in judge.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            spectral_norm(module)
    model["judge"] = judge
    real = torch.rand(6, 1, 16, 16)

    def compute():
        fake = model["make"](torch.randn(6, 8)).detach()
        return F.relu(1 - judge(real)).mean() + F.relu(1 + judge(fake)).mean()

    return Step(model, compute, torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999)))


@case(
    library="monai", source="https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html"
)
def generator_of_two_optimizers():
    """The gradient passes through the discriminator, which another optimizer holds."""
    model = nn.ModuleDict({"make": monai.networks.nets.Generator(8, (8, 4, 4), (8, 1), (2, 2))})
    model["judge"] = monai.networks.nets.Discriminator((1, 16, 16), (8, 16), (2, 2), last_act=None)

    of_judge = torch.optim.Adam(model["judge"].parameters(), lr=2e-4, betas=(0.5, 0.999))

    def compute():
        of_judge.zero_grad()
        logits = model["judge"](model["make"](torch.randn(6, 8)))
        return F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits))

    optimizer = torch.optim.Adam(model["make"].parameters(), lr=2e-4, betas=(0.5, 0.999))
    return Step(model, compute, optimizer)


@case(library="transformers", source="https://huggingface.co/docs/transformers/model_doc/speecht5")
def vocoder_with_weight_norm():
    config = tf.SpeechT5HifiGanConfig(
        model_in_dim=8, upsample_initial_channel=16, upsample_rates=[2, 2],
        upsample_kernel_sizes=[4, 4], resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]],
    )  # fmt: skip
    model = tf.SpeechT5HifiGan(config).train()
    model.apply_weight_norm()
    spectrogram, sound = torch.randn(2, 10, 8), torch.rand(2, 40) * 2 - 1
    return Step(model, lambda: F.l1_loss(model(spectrogram), sound), adam(model))


@case(
    library="higher",
    source="https://github.com/facebookresearch/higher/blob/main/examples/maml-omniglot.py",
)
def maml_with_higher():
    """Two steps on the support set; the loss on the query set is differentiated through them."""
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    support, labels = torch.randn(10, 8), torch.randint(0, 5, (10,))
    query, answers = torch.randn(10, 8), torch.randint(0, 5, (10,))

    def compute():
        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (net, optimizer):
            for _ in range(2):
                optimizer.step(F.cross_entropy(net(support), labels))
            return F.cross_entropy(net(query), answers)

    return Step(model, compute, adam(model))


@case(library="pytorch_revgrad", source="https://arxiv.org/abs/1505.07818")
def domain_adversarial():
    """The features should not tell the domain: the gradient of its loss is reversed."""
    model = nn.ModuleDict({"body": timm.create_model("resnet18", num_classes=0)})
    model["label"] = nn.Linear(512, 5)
    reverse = RevGrad(alpha=0.3)
    model["domain"] = nn.Sequential(reverse, nn.Linear(512, 16), nn.ReLU(), nn.Linear(16, 2))
    (source, labels), target = photos(), torch.randn(4, 3, 32, 32)
    domains = torch.tensor([0] * 4 + [1] * 4)

    def compute():
        features = model["body"](torch.cat([source, target]))
        label_loss = F.cross_entropy(model["label"](features[:4]), labels)
        return label_loss + F.cross_entropy(model["domain"](features), domains)

    return Step(model, compute, sgd(model))


@case(
    library="timm",
    source="https://github.com/huggingface/pytorch-image-models/blob/main/timm/utils/model.py",
)
def first_half_frozen():
    """The first layers stay as they are, statistics included; the rest learns at two rates."""
    model = timm.create_model("resnet18", num_classes=5)
    freeze(model, ["conv1", "bn1", "layer1", "layer2"])
    body = [*model.layer3.parameters(), *model.layer4.parameters()]
    groups = [{"params": body, "lr": 1e-4}, {"params": model.fc.parameters(), "lr": 1e-3}]
    images, labels = photos()
    return Step(model, lambda: F.cross_entropy(model(images), labels), torch.optim.AdamW(groups))


@case(library="timm", source="https://arxiv.org/abs/2006.07733")
def byol_one_direction():
    """The target network is a copy which only the moving average changes."""
    online = timm.create_model("resnet18", num_classes=32)
    target = copy.deepcopy(online).requires_grad_(False)
    model = nn.ModuleDict({"online": online, "target": target})
    model["predict"] = nn.Sequential(
        nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32)
    )
    one, two = torch.randn(4, 3, 32, 32), torch.randn(4, 3, 32, 32)
    trained = [*online.parameters(), *model["predict"].parameters()]

    def compute():
        with torch.no_grad():
            goal = target(two)
        return 2 - 2 * F.cosine_similarity(model["predict"](online(one)), goal).mean()

    return Step(model, compute, torch.optim.SGD(trained, lr=0.05, momentum=0.9))
