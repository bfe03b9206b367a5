"""Fine-tuning of a few parameters: the adapters of peft, BitFit, linear probes."""

import timm
import torch
import transformers as tf
from peft import (
    AdaLoraConfig,
    IA3Config,
    LoHaConfig,
    LoraConfig,
    OFTConfig,
    PrefixTuningConfig,
    PromptTuningConfig,
    VeraConfig,
    get_peft_model,
)
from torch import nn
from torch.nn import functional as F

from cases.case import Step, case

DOCS = "https://huggingface.co/docs/peft/"
ATTENTION = ["q_proj", "v_proj"]


def llama():
    config = tf.LlamaConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64,
        bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return tf.AutoModelForCausalLM.from_config(config)


def encoder():
    return tf.BertConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=64, num_labels=3,
    )  # fmt: skip


def tuned(config):
    """A causal model with an adapter, and the loop of peft's examples over all parameters."""
    model = get_peft_model(llama(), config).train()
    ids = torch.randint(3, 100, (3, 12))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Step(model, lambda: model(input_ids=ids, labels=ids).loss, optimizer)


@case(library="peft", source=DOCS + "package_reference/lora")
def lora():
    return tuned(LoraConfig(r=4, target_modules=ATTENTION, lora_dropout=0.1, task_type="CAUSAL_LM"))


@case(library="peft", source=DOCS + "developer_guides/lora")
def dora():
    return tuned(LoraConfig(r=4, target_modules=ATTENTION, use_dora=True, task_type="CAUSAL_LM"))


@case(library="peft", source=DOCS + "package_reference/ia3")
def ia3():
    config = IA3Config(
        target_modules=["k_proj", "v_proj", "down_proj"],
        feedforward_modules=["down_proj"],
        task_type="CAUSAL_LM",
    )
    return tuned(config)


@case(library="peft", source=DOCS + "package_reference/prompt_tuning")
def prompt_tuning():
    return tuned(PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=5))


@case(library="peft", source=DOCS + "package_reference/prefix_tuning")
def prefix_tuning():
    return tuned(PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=5))


@case(library="peft", source=DOCS + "package_reference/vera")
def vera():
    return tuned(VeraConfig(r=8, target_modules=ATTENTION, task_type="CAUSAL_LM"))


@case(library="peft", source=DOCS + "package_reference/loha")
def loha():
    return tuned(LoHaConfig(r=4, target_modules=ATTENTION, task_type="CAUSAL_LM"))


@case(library="peft", source=DOCS + "package_reference/oft")
def oft():
    return tuned(OFTConfig(oft_block_size=8, target_modules=ATTENTION, task_type="CAUSAL_LM"))


@case(library="peft", source=DOCS + "package_reference/adalora")
def adalora():
    """The model adds the penalty for orthogonality to the loss."""
    config = AdaLoraConfig(
        init_r=6, target_r=3, total_step=100, target_modules=ATTENTION, task_type="CAUSAL_LM"
    )
    return tuned(config)


@case(library="peft", source=DOCS + "developer_guides/lora")
def lora_with_a_trained_head():
    """modules_to_save: a copy of the classifier is trained, the original one is kept."""
    config = LoraConfig(r=4, target_modules=["query", "value"], modules_to_save=["classifier"])
    model = tf.AutoModelForSequenceClassification.from_config(encoder())
    model = get_peft_model(model, config).train()
    ids, labels = torch.randint(3, 100, (4, 10)), torch.tensor([0, 1, 2, 1])
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    return Step(model, lambda: model(input_ids=ids, labels=labels).loss, optimizer)


@case(library="peft", source="https://huggingface.co/docs/transformers/grad_checkpointing")
def lora_checkpointed():
    model = llama()
    model.gradient_checkpointing_enable()
    model.enable_input_require_grads()
    model = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear")).train()
    ids = torch.randint(3, 100, (2, 12))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Step(model, lambda: model(input_ids=ids, labels=ids).loss, optimizer)


@case(library="transformers", source="https://arxiv.org/abs/2106.10199")
def bitfit():
    """Only the biases and the new head are trained."""
    model = tf.AutoModelForSequenceClassification.from_config(encoder()).train()
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.endswith("bias") or name.startswith("classifier")
    ids, labels = torch.randint(3, 100, (4, 10)), torch.tensor([2, 1, 0, 1])
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    return Step(model, lambda: model(input_ids=ids, labels=labels).loss, optimizer)


@case(
    library="timm",
    source="https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html",
)
def new_head_on_a_frozen_resnet():
    model = timm.create_model("resnet18", num_classes=0)
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(model.num_features, 4)
    images, labels = torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 3])
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.01, momentum=0.9)
    return Step(model, lambda: F.cross_entropy(model(images), labels), optimizer)


@case(library="timm", source="https://github.com/facebookresearch/dino/blob/main/eval_linear.py")
def linear_probe_on_a_frozen_vit():
    """The backbone runs under no_grad(); the optimizer holds the probe alone."""
    backbone = timm.create_model(
        "vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, num_classes=0
    ).eval()
    probe = nn.Linear(backbone.num_features, 5)
    images, labels = torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 3])

    def compute():
        with torch.no_grad():
            features = backbone(images)
        return F.cross_entropy(probe(features), labels)

    model = nn.ModuleDict({"backbone": backbone, "probe": probe})
    return Step(model, compute, torch.optim.SGD(probe.parameters(), lr=0.1, momentum=0.9))
