"""A part of a model gets no update: a prompt, an adapter, a head, a second network.

Each function follows the thread that it cites; the model around the line is small.
"""

import tempfile

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Variable

from cases.case import Step, case


@case(
    library="timm",
    source="https://github.com/pytorch/pytorch/issues/17484",
    cause=("unregistered", "not-a-leaf"),
)
def prompt_moved_to_a_device():
    from timm.models.vision_transformer import VisionTransformer

    class Prompted(VisionTransformer):
        def __init__(self, prompts=4, **sizes):
            super().__init__(**sizes)
            self.requires_grad_(False)
            self.head.requires_grad_(True)
            prompt = nn.Parameter(torch.randn(1, prompts, self.embed_dim) * 0.02)
            # On one device, .to() makes a new tensor only if it has to copy.
            self.prompt = prompt.to("cpu", copy=True)  #!

        def forward(self, x):
            x = self._pos_embed(self.patch_embed(x))
            x = torch.cat([x[:, :1], self.prompt.expand(len(x), -1, -1), x[:, 1:]], 1)
            return self.forward_head(self.norm(self.blocks(x)))

    model = Prompted(img_size=32, patch_size=8, embed_dim=48, depth=3, num_heads=4, num_classes=10)
    nn.init.normal_(model.head.weight, std=0.02)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    images, labels = torch.rand(4, 3, 32, 32), torch.randint(10, (4,))
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


def _small_llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=200, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4,
    )  # fmt: skip
    return LlamaForCausalLM(config)


@case(
    library="peft",
    source="https://github.com/huggingface/peft/issues/282",
    cause="frozen",
    also=("no-history",),
)
def adapter_loaded_for_inference():
    from peft import LoraConfig, PeftModel, get_peft_model

    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    with tempfile.TemporaryDirectory() as folder:
        get_peft_model(_small_llama(), config).save_pretrained(folder)
        model = PeftModel.from_pretrained(_small_llama(), folder)  #!
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(200, (2, 16))
    return Step(model, lambda: model(input_ids=tokens, labels=tokens).loss, optimizer)


@case(
    library="transformers",
    source="https://github.com/huggingface/optimum-graphcore/pull/304",
    cause="frozen",
    missed="from_pretrained() freezes: it looks like word vectors that were frozen on purpose",
)
def embeddings_put_together_again():
    from transformers import BertConfig, BertForSequenceClassification

    class SerializedEmbedding(nn.Module):
        """An embedding that is split for a device with little memory."""

        def __init__(self, embedding, factor=4):
            super().__init__()
            self.split_embeddings = nn.ModuleList(
                nn.Embedding.from_pretrained(part.clone(), freeze=False)
                for part in embedding.weight.detach().chunk(factor)
            )

        def deserialize(self):
            rows = torch.vstack([part.weight.detach() for part in self.split_embeddings])
            return nn.Embedding.from_pretrained(rows, padding_idx=0)  #!

    config = BertConfig(
        vocab_size=200, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96,
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    serialized = SerializedEmbedding(model.get_input_embeddings())
    model.set_input_embeddings(serialized.deserialize())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens, labels = torch.randint(200, (4, 20)), torch.randint(2, (4,))
    return Step(model, lambda: model(input_ids=tokens, labels=labels).loss, optimizer)


@case(
    library="torch",
    source="https://github.com/automan000/Convolutional_LSTM_PyTorch/issues/17",
    cause="unregistered",
)
def peepholes_of_a_convolutional_lstm():
    class ConvLSTMCell(nn.Module):
        def __init__(self, inputs, hidden):
            super().__init__()
            self.hidden = hidden
            self.Wx = nn.Conv2d(inputs, 4 * hidden, 3, padding=1)
            self.Wh = nn.Conv2d(hidden, 4 * hidden, 3, padding=1, bias=False)
            self.Wci = self.Wcf = self.Wco = None

        def init_hidden(self, size):
            if self.Wci is None:
                zeros = torch.zeros(1, self.hidden, *size)
                self.Wci = Variable(zeros.clone(), requires_grad=True)  #!
                self.Wcf = Variable(zeros.clone(), requires_grad=True)  #!
                self.Wco = Variable(zeros.clone(), requires_grad=True)  #!

        def forward(self, x, h, c):
            i, f, g, o = (self.Wx(x) + self.Wh(h)).chunk(4, 1)
            i, f = torch.sigmoid(i + c * self.Wci), torch.sigmoid(f + c * self.Wcf)
            c = f * c + i * torch.tanh(g)
            return torch.sigmoid(o + c * self.Wco) * torch.tanh(c), c

    class Nowcast(nn.Module):
        def __init__(self, hidden=16):
            super().__init__()
            self.cells = nn.ModuleList([ConvLSTMCell(1, hidden), ConvLSTMCell(hidden, hidden)])
            self.head = nn.Conv2d(hidden, 1, 1)

        def forward(self, frames):
            for cell in self.cells:
                cell.init_hidden(frames.shape[-2:])
                h = c = frames.new_zeros(len(frames), cell.hidden, *frames.shape[-2:])
                steps = []
                for x in frames.unbind(1):
                    h, c = cell(x, h, c)
                    steps.append(h)
                frames = torch.stack(steps, 1)
            return self.head(frames[:, -1])

    model = Nowcast()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    frames, after = torch.rand(2, 5, 1, 16, 16), torch.rand(2, 1, 16, 16)
    return Step(model, lambda: F.mse_loss(model(frames), after), optimizer)


@case(
    library="timm",
    source="https://github.com/facebookresearch/dino/pull/200",
    cause="unused",
)
def head_that_forward_leaves_out():
    from timm.models.vision_transformer import VisionTransformer

    class DinoTransformer(VisionTransformer):
        def forward(self, x):
            x = self._pos_embed(self.patch_embed(x))
            for block in self.blocks:
                x = block(x)
            return self.norm(x)[:, 0]  #!

    model = DinoTransformer(
        img_size=32, patch_size=8, embed_dim=48, depth=3, num_heads=4, num_classes=10
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    images, labels = torch.rand(4, 3, 32, 32), torch.randint(10, (4,))
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(
    library="torchvision",
    source="https://github.com/bohaohuang/mrs/issues/68",
    cause=("not-in-optimizer", "stale-optimizer"),
)
def discriminator_without_an_optimizer():
    from torchvision.ops import Conv2dNormActivation

    generator = nn.Sequential(
        Conv2dNormActivation(3, 32, 3), Conv2dNormActivation(32, 32, 3), nn.Conv2d(32, 3, 1)
    )
    discriminator = nn.Sequential(
        Conv2dNormActivation(3, 32, 4, 2, 1, activation_layer=nn.LeakyReLU),
        Conv2dNormActivation(32, 64, 4, 2, 1, activation_layer=nn.LeakyReLU),
        nn.Conv2d(64, 1, 4),
    )

    def create_optimizers(**rates):
        optm_g = torch.optim.Adam(generator.parameters(), **rates)
        optm_d = torch.optim.Adam(generator.parameters(), **rates)  #!
        return optm_g, optm_d

    _, optm_d = create_optimizers(lr=5e-4, betas=(0.5, 0.999))
    source, target = torch.rand(2, 4, 3, 32, 32)

    def compute():
        real, fake = discriminator(target), discriminator(generator(source).detach())
        good = F.binary_cross_entropy_with_logits(real, torch.ones_like(real))
        return (good + F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake))) / 2

    return Step(discriminator, compute, optm_d)


@case(
    library="torchvision",
    source="https://github.com/nttcslab/byol-a/issues/7",
    cause="frozen",
    missed="it looks like a part that was frozen on purpose: the second call read a flag, and "
    "changed nothing",
)
def parameters_that_stay_frozen():
    from torchvision.models import shufflenet_v2_x0_5

    def set_trainable(model, flag):
        for p in model.parameters():
            if p.requires_grad:  #!
                p.requires_grad = flag

    model = nn.Sequential(shufflenet_v2_x0_5(num_classes=64), nn.ReLU(), nn.Linear(64, 10))
    set_trainable(model[0], False)  # first, the head alone was trained
    set_trainable(model[0], True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    spectrogram, label = torch.rand(2, 3, 64, 96), torch.randint(10, (2,))
    return Step(model, lambda: F.cross_entropy(model(spectrogram), label), optimizer)


@case(
    library="torch_geometric",
    source="https://github.com/HKUDS/GraphGPT/issues/31",
    cause="new-parameter",
    also=("unregistered",),
)
def temperature_made_in_the_loss():
    from torch_geometric.nn import TransformerConv

    class Grounding(nn.Module):
        def __init__(self, width=32):
            super().__init__()
            self.conv1, self.conv2 = TransformerConv(16, width), TransformerConv(width, width)
            self.words = nn.EmbeddingBag(120, width)
            self.project = nn.Sequential(
                nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)
            )

        def forward(self, x, edges, texts):
            s = self.conv2(F.relu(self.conv1(x, edges)), edges)
            return F.normalize(s, dim=1), F.normalize(self.project(self.words(texts)), dim=1)

    def cal_cl_loss(s_features, t_features, labels):
        logit_scale = nn.Parameter(torch.ones([]) * 2.66).exp()  #!
        logits = logit_scale * s_features @ t_features.t()
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2

    model = Grounding()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-5)
    x, edges, texts = torch.randn(24, 16), torch.randint(24, (2, 80)), torch.randint(120, (24, 8))
    labels = torch.arange(24)
    return Step(model, lambda: cal_cl_loss(*model(x, edges, texts), labels), optimizer)
