"""The gradient is 0, or nearly, where a model should learn.

Each function follows the thread that it cites; the model around the line is small.
"""

import torch
from torch import nn
from torch.nn import functional as F

from cases.case import Step, case


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


def tokens(batch=4, length=12):
    return torch.randint(3, 100, (batch, length))


@case(
    library="transformers",
    source="https://discuss.pytorch.org/t/torch-round-gradient/28628",
    cause="staircase",
)
def rounded_rating():
    import transformers as tf

    model = tf.BertForSequenceClassification(tiny_bert(num_labels=1))
    ids, stars = tokens(), torch.tensor([1.0, 4.0, 3.0, 5.0])

    def compute():
        rating = 3 + model(ids).logits.squeeze(-1)
        rating = rating.round()  #!
        return F.mse_loss(rating, stars)

    return Step(model, compute, torch.optim.AdamW(model.parameters(), 1e-4))


@case(
    library="kornia",
    source="https://github.com/kornia/kornia/issues/827",
    cause="staircase",
)
def nearest_pixel():
    import kornia
    from torchvision.models import resnet18

    class WarpRegressor(nn.Module):
        """Finds the homography between an image and a template."""

        def __init__(self, mode):
            super().__init__()
            self.backbone = resnet18(num_classes=32)
            self.regressor = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 9))
            nn.init.normal_(self.regressor[-1].weight, std=1e-2)
            self.regressor[-1].bias.data.copy_(torch.eye(3).flatten())
            self.warper = kornia.geometry.HomographyWarper(64, 64, mode=mode)

        def forward(self, image, template):
            homography = self.regressor(self.backbone(image)).view(-1, 3, 3)
            return self.warper(template, homography)  #!

    model = WarpRegressor(mode="nearest")  #!
    image = torch.rand(4, 3, 64, 64)
    template = kornia.filters.gaussian_blur2d(image, (5, 5), (2.0, 2.0))

    def compute():
        return F.mse_loss(model(image, template), image)

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-4))


@case(
    library="peft",
    source="https://github.com/Guitaricet/relora/issues/18",
    cause="zero-factor",
)
def both_lora_factors_zero():
    import peft
    import transformers as tf

    config = tf.LlamaConfig(
        vocab_size=100,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
    )
    model = peft.get_peft_model(
        tf.LlamaForCausalLM(config),
        peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )
    for name, parameter in model.named_parameters():  # the wrapped model starts as the original
        if "lora_A" in name or "lora_B" in name:
            nn.init.zeros_(parameter)  #!
    ids = tokens()
    trained = [p for p in model.parameters() if p.requires_grad]
    return Step(model, lambda: model(input_ids=ids, labels=ids).loss, torch.optim.AdamW(trained))


@case(
    library="torch",
    source="https://github.com/ProteomicsML/ProteomicsML/pull/203",
    cause="dead-relu",
)
def relu_on_the_output():
    class RetentionTime(nn.Module):
        """An LSTM over the amino acids of a peptide, and a dense head, as in the tutorial."""

        def __init__(self):
            super().__init__()
            self.acids = nn.Embedding(22, 16, padding_idx=0)
            self.lstm = nn.LSTM(16, 32, batch_first=True, bidirectional=True)
            self.hidden = nn.Linear(64, 32)
            self.out = nn.Linear(32, 1)

        def forward(self, peptide):
            states, _ = self.lstm(self.acids(peptide))
            hidden = F.relu(self.hidden(states.mean(1)))
            return F.relu(self.out(hidden)).squeeze(-1)  #!

    model = RetentionTime()
    nn.init.constant_(model.out.bias, -0.5)  # an unlucky start: the output is below 0 everywhere
    peptide, minutes = torch.randint(1, 22, (8, 15)), torch.rand(8)

    def compute():
        return F.l1_loss(model(peptide), minutes)

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-3))


@case(
    library="torchvision",
    source="https://github.com/ultralytics/yolov3/issues/191",
    cause="softmax-of-one",
)
def detector_of_one_class():
    from torchvision.models import resnet18

    class Detector(nn.Module):
        """A box, its objectness and its class for each cell of a grid."""

        def __init__(self, classes):
            super().__init__()
            self.backbone = nn.Sequential(*list(resnet18().children())[:-2])
            self.box = nn.Conv2d(512, 4, 1)
            self.object = nn.Conv2d(512, 1, 1)
            self.kind = nn.Conv2d(512, classes, 1)

        def forward(self, image):
            x = self.backbone(image)
            return self.box(x), self.object(x), self.kind(x)

    model = Detector(classes=1)  #!
    image, boxes = torch.rand(2, 3, 96, 96), torch.rand(2, 4, 3, 3)
    objects, kinds = torch.ones(2, 1, 3, 3), torch.zeros(2, 3, 3, dtype=torch.long)

    def compute():
        box, found, kind = model(image)
        loss = F.smooth_l1_loss(box, boxes)
        loss = loss + F.binary_cross_entropy_with_logits(found, objects)
        return loss + F.cross_entropy(kind, kinds)  #!

    return Step(model, compute, torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9))


@case(
    library="torch",
    source="https://github.com/pytorch/pytorch/issues/31396",
    cause="saturated",
)
def raw_counts():
    class BagOfWords(nn.Module):
        def __init__(self):
            super().__init__()
            self.input = nn.Linear(14650, 2)

        def forward(self, counts):
            return self.input(counts).softmax(-1)  #!

    model = BagOfWords()
    counts = torch.randint(0, 50_000, (4, 14650)).float()  #!
    target = F.one_hot(torch.tensor([0, 1, 1, 0])).float()

    def compute():
        return F.binary_cross_entropy(model(counts), target)

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-5))


@case(
    library="torchvision",
    source="https://github.com/lilanxiao/Rotated_IoU/issues/9",
    cause=(
        "outside-range",
        "zero-factor",
    ),  # clamp makes both zeros; their product stops the gradient
)
def boxes_that_do_not_overlap():
    import torchvision
    from torchvision.models import resnet18

    def iou_loss(box, target):
        top_left = torch.maximum(box[:, :2], target[:, :2])
        bottom_right = torch.minimum(box[:, 2:], target[:, 2:])
        overlap = (bottom_right - top_left).clamp(min=0).prod(-1)  #!
        area = torchvision.ops.box_area(box) + torchvision.ops.box_area(target)
        return (1 - overlap / (area - overlap)).mean()  #!

    model = resnet18(num_classes=4)
    image = torch.rand(4, 3, 64, 64)
    target = torch.tensor([[40.0, 40.0, 60.0, 60.0]]).repeat(4, 1)

    def compute():
        corner, size = model(image).sigmoid().mul(16).split(2, -1)
        return iou_loss(torch.cat([corner, corner + size], -1), target)

    return Step(model, compute, torch.optim.SGD(model.parameters(), 1e-2))
