"""Language models: decoders, encoders, encoder-decoders, mixtures of experts, state spaces."""

import torch
import transformers as tf
from torch.nn import functional as F
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

from cases.case import Step, case

DOCS = "https://huggingface.co/docs/transformers/"
EXAMPLES = "https://github.com/huggingface/transformers/blob/main/examples/pytorch/"
DECODER = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
ENCODER = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 66,
}


def words(*shape):
    return torch.randint(3, 100, shape)


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3)


def with_own_loss(model, **batch):
    """The usual step of transformers: the model computes the loss from `labels`."""
    model.train()
    return Step(model, lambda: model(**batch).loss, adamw(model))


def masked(length=16):
    """A batch as DataCollatorForLanguageModeling makes it: -100 where no word was masked."""
    ids, labels = words(4, length), torch.full((4, length), -100)
    chosen = torch.rand(4, length) < 0.2
    labels[chosen] = ids[chosen]
    return {"input_ids": ids.masked_fill(chosen, 3), "labels": labels}


@case(library="transformers", source=EXAMPLES + "language-modeling/run_clm_no_trainer.py")
def gpt2_causal():
    ids = words(4, 16)
    config = tf.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64)
    return with_own_loss(tf.AutoModelForCausalLM.from_config(config), input_ids=ids, labels=ids)


@case(library="transformers", source=DOCS + "model_doc/llama")
def llama_padded_on_the_left():
    model = tf.AutoModelForCausalLM.from_config(tf.LlamaConfig(**DECODER))
    ids, mask = words(3, 12), torch.ones(3, 12, dtype=torch.long)
    mask[0, :5] = mask[1, :2] = 0
    ids[mask == 0] = 0
    labels = ids.masked_fill(mask == 0, -100)
    return with_own_loss(model, input_ids=ids, attention_mask=mask, labels=labels)


@case(library="transformers", source=DOCS + "model_doc/mistral")
def mistral_sliding_window():
    model = tf.AutoModelForCausalLM.from_config(tf.MistralConfig(**DECODER, sliding_window=4))
    ids = words(2, 12)
    return with_own_loss(model, input_ids=ids, labels=ids)


@case(library="transformers", source=DOCS + "model_doc/qwen2")
def qwen_answers_only():
    """Instruction tuning: the prompt counts for nothing in the loss."""
    model = tf.AutoModelForCausalLM.from_config(tf.Qwen2Config(**DECODER))
    ids = words(3, 12)
    labels = ids.clone()
    labels[:, :6] = -100
    return with_own_loss(model, input_ids=ids, labels=labels)


@case(library="transformers", source=DOCS + "model_doc/gemma")
def gemma_tied_embeddings():
    model = tf.AutoModelForCausalLM.from_config(tf.GemmaConfig(**DECODER, head_dim=8))
    ids = words(2, 12)
    return with_own_loss(model, input_ids=ids, labels=ids)


@case(library="transformers", source=DOCS + "model_doc/mixtral")
def mixtral_idle_experts():
    """Sixteen experts and six words: most experts get none."""
    config = tf.MixtralConfig(**DECODER, num_local_experts=16, output_router_logits=True)
    model = tf.AutoModelForCausalLM.from_config(config)
    ids = words(1, 6)
    return with_own_loss(model, input_ids=ids, labels=ids)


@case(library="transformers", source=DOCS + "model_doc/switch_transformers")
def switch_idle_experts():
    config = tf.SwitchTransformersConfig(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, num_experts=8,
        decoder_start_token_id=0,
    )  # fmt: skip
    model = tf.SwitchTransformersForConditionalGeneration(config)
    return with_own_loss(model, input_ids=words(1, 6), labels=words(1, 3))


@case(library="transformers", source=EXAMPLES + "language-modeling/run_mlm_no_trainer.py")
def bert_masked_words():
    model = tf.AutoModelForMaskedLM.from_config(tf.BertConfig(**ENCODER))
    return with_own_loss(model, **masked())


@case(library="transformers", source=EXAMPLES + "text-classification/run_glue_no_trainer.py")
def roberta_classification():
    config = tf.RobertaConfig(**ENCODER, num_labels=3, pad_token_id=1)
    model = tf.AutoModelForSequenceClassification.from_config(config)
    ids, mask = words(4, 12), torch.ones(4, 12, dtype=torch.long)
    mask[0, 7:] = mask[2, 10:] = 0
    ids[mask == 0] = 1
    labels = torch.tensor([0, 2, 1, 1])
    return with_own_loss(model, input_ids=ids, attention_mask=mask, labels=labels)


@case(library="transformers", source=EXAMPLES + "question-answering/run_qa_no_trainer.py")
def distilbert_question_answering():
    config = tf.DistilBertConfig(vocab_size=100, dim=32, hidden_dim=64, n_layers=2, n_heads=4)
    model = tf.AutoModelForQuestionAnswering.from_config(config)
    start, end = torch.tensor([2, 5]), torch.tensor([4, 9])
    return with_own_loss(model, input_ids=words(2, 14), start_positions=start, end_positions=end)


@case(library="transformers", source=EXAMPLES + "token-classification/run_ner_no_trainer.py")
def electra_token_classification():
    config = tf.ElectraConfig(**ENCODER, embedding_size=16, num_labels=5)
    model = tf.AutoModelForTokenClassification.from_config(config)
    labels = torch.randint(0, 5, (3, 10))
    labels[:, [0, 4, 9]] = -100  # special tokens and the later pieces of a word
    return with_own_loss(model, input_ids=words(3, 10), labels=labels)


@case(library="transformers", source=DOCS + "model_doc/t5#training")
def t5_summarization():
    config = tf.T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    model = tf.AutoModelForSeq2SeqLM.from_config(config)
    labels = words(3, 7)
    labels[0, 4:] = -100
    return with_own_loss(model, input_ids=words(3, 12), labels=labels)


@case(library="transformers", source=EXAMPLES + "summarization/run_summarization_no_trainer.py")
def bart_padded_and_smoothed():
    config = tf.BartConfig(
        vocab_size=100, d_model=32, max_position_embeddings=64,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=64, decoder_ffn_dim=64,
    )  # fmt: skip
    model = tf.AutoModelForSeq2SeqLM.from_config(config).train()
    ids, mask, labels = words(3, 12), torch.ones(3, 12, dtype=torch.long), words(3, 8)
    mask[1, 6:] = 0
    ids[1, 6:] = 1
    labels[1, 4:] = -100
    smoother = tf.trainer_pt_utils.LabelSmoother(epsilon=0.1)

    def compute():
        outputs = model(input_ids=ids, attention_mask=mask, labels=labels)
        return smoother(outputs, labels)

    return Step(model, compute, adamw(model))


@case(library="transformers", source=DOCS + "model_doc/deberta-v2")
def deberta_masked_words():
    config = tf.DebertaV2Config(
        **ENCODER, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8
    )
    return with_own_loss(tf.AutoModelForMaskedLM.from_config(config), **masked())


@case(library="transformers", source=DOCS + "model_doc/albert")
def albert_shared_layers():
    config = tf.AlbertConfig(**ENCODER, embedding_size=16)
    return with_own_loss(tf.AutoModelForMaskedLM.from_config(config), **masked())


@case(library="transformers", source=DOCS + "model_doc/mamba")
def mamba_causal():
    config = tf.MambaConfig(vocab_size=100, hidden_size=32, state_size=4, num_hidden_layers=2)
    ids = words(2, 10)
    return with_own_loss(tf.AutoModelForCausalLM.from_config(config), input_ids=ids, labels=ids)


@case(library="transformers", source=DOCS + "grad_checkpointing")
def opt_checkpointed_without_reentry():
    config = tf.OPTConfig(
        vocab_size=100, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=64, word_embed_proj_dim=32,
    )  # fmt: skip
    model = tf.AutoModelForCausalLM.from_config(config)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    ids = words(2, 10)
    return with_own_loss(model, input_ids=ids, labels=ids)


@case(library="transformers", source=DOCS + "grad_checkpointing")
def llama_checkpointed_with_reentry():
    model = tf.AutoModelForCausalLM.from_config(tf.LlamaConfig(**DECODER))
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model.enable_input_require_grads()
    ids = words(2, 10)
    return with_own_loss(model, input_ids=ids, labels=ids)


@case(library="transformers", source="https://docs.pytorch.org/docs/stable/amp.html")
def neox_autocast_bfloat16():
    config = tf.GPTNeoXConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=64,
    )  # fmt: skip
    model = tf.AutoModelForCausalLM.from_config(config).train()
    ids = words(2, 12)

    def compute():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(input_ids=ids, labels=ids).loss

    return Step(model, compute, adamw(model))


@case(library="x_transformers", source="https://github.com/lucidrains/x-transformers#usage")
def x_transformers_autoregressive():
    decoder = Decoder(dim=32, depth=2, heads=2, attn_dim_head=64, rotary_pos_emb=True)
    net = TransformerWrapper(num_tokens=100, max_seq_len=32, attn_layers=decoder)
    model = AutoregressiveWrapper(net)
    ids = words(2, 17)
    return Step(model, lambda: model(ids), torch.optim.Adam(model.parameters(), lr=1e-3))


@case(
    library="transformers",
    source="https://sbert.net/docs/package_reference/sentence_transformer/losses.html",
)
def sentences_in_batch_negatives():
    """Mean pooling and MultipleNegativesRankingLoss; the pooler of BERT is there, and not used."""
    model = tf.AutoModel.from_config(tf.BertConfig(**ENCODER)).train()
    anchors, positives = words(6, 8), words(6, 10)
    mask = torch.ones(6, 10, dtype=torch.long)
    mask[:3, 7:] = 0

    def embed(ids, mask):
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).float()
        return F.normalize((hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9), dim=1)

    def compute():
        scores = embed(anchors, torch.ones_like(anchors)) @ embed(positives, mask).T * 20
        return F.cross_entropy(scores, torch.arange(6))

    return Step(model, compute, adamw(model))
