"""Speech, sound and time series: recurrent, convolutional and transformer models."""

# isort: split
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import (
    ASTConfig,
    ASTForAudioClassification,
    AutoformerConfig,
    AutoformerForPrediction,
    PatchTSTConfig,
    PatchTSTForPrediction,
    PatchTSTForPretraining,
    TimeSeriesTransformerConfig,
    TimeSeriesTransformerForPrediction,
    Wav2Vec2Config,
    Wav2Vec2ForCTC,
    Wav2Vec2ForPreTraining,
    WhisperConfig,
    WhisperForConditionalGeneration,
)
from transformers.models.wav2vec2.modeling_wav2vec2 import (
    _compute_mask_indices,
    _sample_negative_indices,
)

from cases.case import Step, case

TRANSFORMERS = "https://github.com/huggingface/transformers/blob/main/examples/pytorch/"
MODEL_DOC = "https://huggingface.co/docs/transformers/model_doc/"


class SpeechRecognizer(nn.Module):
    """Convolutions over a spectrogram, then recurrent layers, as in Deep Speech 2."""

    def __init__(self, mels=20, labels=12, width=24):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, (11, 5), stride=(1, 2), padding=(5, 2)), nn.BatchNorm2d(8),
            nn.Hardtanh(0, 20, inplace=True),
        )  # fmt: skip
        self.rnn = nn.LSTM(8 * mels // 2, width, 2, bidirectional=True, batch_first=True)
        self.fc = nn.Sequential(nn.LayerNorm(2 * width), nn.Linear(2 * width, labels, bias=False))

    def forward(self, spectrograms, lengths):
        x = self.conv(spectrograms.unsqueeze(1))
        padding = torch.arange(x.shape[2]) >= lengths[:, None]
        x = x.masked_fill(padding[:, None, :, None], 0).transpose(1, 2).flatten(2)
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        hidden, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.fc(hidden)


@case(library="torch", source="https://github.com/SeanNaren/deepspeech.pytorch")
def deep_speech_with_ctc():
    model = SpeechRecognizer()
    lengths, target_lengths = torch.tensor([40, 31, 24]), torch.tensor([9, 6, 4])
    spectrograms = torch.randn(3, 40, 20)
    for one, length in zip(spectrograms, lengths, strict=True):
        one[length:] = 0
    targets = torch.randint(1, 12, (int(target_lengths.sum()),))
    criterion = nn.CTCLoss(blank=0, reduction="sum", zero_infinity=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-4, weight_decay=1e-5)

    def compute():
        out = model(spectrograms, lengths).transpose(0, 1).float().log_softmax(-1)
        return criterion(out, targets, lengths, target_lengths) / len(lengths)

    return Step(model, compute, optimizer)


def small_wav2vec2(**others):
    return Wav2Vec2Config(
        vocab_size=20, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, conv_dim=(16, 16, 16), conv_stride=(5, 4, 4), conv_kernel=(10, 4, 4),
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, mask_time_length=2, **others,
    )  # fmt: skip


@case(
    library="transformers", source=TRANSFORMERS + "speech-recognition/run_speech_recognition_ctc.py"
)
def wav2vec2_with_ctc_and_a_frozen_feature_encoder():
    config = small_wav2vec2(
        feat_extract_norm="layer", ctc_loss_reduction="mean", layerdrop=0.0, mask_time_prob=0.05,
    )  # fmt: skip
    model = Wav2Vec2ForCTC(config).train()
    model.freeze_feature_encoder()
    waves, attention_mask = torch.randn(2, 4000), torch.ones(2, 4000, dtype=torch.long)
    waves[1, 3000:], attention_mask[1, 3000:] = 0, 0
    labels = torch.randint(1, 20, (2, 8))
    labels[1, 5:] = -100

    def compute():
        return model(waves, attention_mask=attention_mask, labels=labels).loss

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=3e-4))


@case(
    library="transformers",
    source=TRANSFORMERS + "speech-pretraining/run_wav2vec2_pretraining_no_trainer.py",
)
def wav2vec2_pretraining_with_gumbel_quantizer():
    config = small_wav2vec2(
        num_codevectors_per_group=8, num_codevector_groups=2, codevector_dim=16,
        proj_codevector_dim=16, num_negatives=5, do_stable_layer_norm=True,
        feat_extract_norm="layer", layerdrop=0.0,
    )  # fmt: skip
    model = Wav2Vec2ForPreTraining(config).train()
    waves = torch.randn(2, 4000)
    shape = (2, int(model._get_feat_extract_output_lengths(4000)))
    masked = _compute_mask_indices(shape, mask_prob=0.4, mask_length=2)
    negatives = _sample_negative_indices(shape, 5, mask_time_indices=masked)
    masked, negatives = torch.tensor(masked), torch.tensor(negatives)

    def compute():
        loss = model(waves, mask_time_indices=masked, sampled_negative_indices=negatives).loss
        return loss / masked.sum()

    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-6)
    return Step(model, compute, optimizer)


@case(
    library="transformers",
    source=TRANSFORMERS + "speech-recognition/run_speech_recognition_seq2seq.py",
)
def whisper_with_padded_labels():
    config = WhisperConfig(
        vocab_size=60, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
        decoder_ffn_dim=64, max_source_positions=50, max_target_positions=20, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=3, suppress_tokens=[],
        begin_suppress_tokens=[],
    )  # fmt: skip
    model = WhisperForConditionalGeneration(config).train()
    features, labels = torch.randn(2, 16, 100), torch.randint(4, 60, (2, 9))
    labels[1, 6:] = -100

    def compute():
        with torch.autocast("cpu", torch.bfloat16):
            return model(input_features=features, labels=labels).loss

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-4))


@case(
    library="transformers", source=TRANSFORMERS + "audio-classification/run_audio_classification.py"
)
def audio_spectrogram_transformer():
    config = ASTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_length=48, num_mel_bins=32, num_labels=5,
    )  # fmt: skip
    model = ASTForAudioClassification(config).train()
    model.gradient_checkpointing_enable()
    spectrograms, labels = torch.randn(4, 48, 32), torch.randint(5, (4,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)
    return Step(model, lambda: model(spectrograms, labels=labels).loss, optimizer)


class TemporalBlock(nn.Module):
    def __init__(self, width, out, dilation, kernel=3, dropout=0.2):
        super().__init__()
        self.padding = (kernel - 1) * dilation
        self.conv1 = weight_norm(nn.Conv1d(width, out, kernel, dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(out, out, kernel, dilation=dilation))
        self.dropout = nn.Dropout(dropout)
        self.downsample = nn.Conv1d(width, out, 1) if width != out else nn.Identity()

    def forward(self, x):
        out = self.dropout(F.relu(self.conv1(F.pad(x, (self.padding, 0)))))
        out = self.dropout(F.relu(self.conv2(F.pad(out, (self.padding, 0)))))
        return F.relu(out + self.downsample(x))


@case(
    library="torch",
    source="https://github.com/locuslab/TCN/blob/master/TCN/adding_problem/add_test.py",
)
def temporal_convolutions_for_the_adding_problem():
    blocks = [TemporalBlock(2, 16, 1), TemporalBlock(16, 16, 2), TemporalBlock(16, 16, 4)]
    model = nn.ModuleDict({"tcn": nn.Sequential(*blocks), "linear": nn.Linear(16, 1)})
    numbers, marks = torch.rand(16, 40), torch.zeros(16, 40)
    marks[torch.arange(16), torch.randint(20, (16,))] = 1
    marks[torch.arange(16), torch.randint(20, 40, (16,))] = 1
    x, y = torch.stack([numbers, marks], dim=1), (numbers * marks).sum(1, keepdim=True)

    def compute():
        return F.mse_loss(model["linear"](model["tcn"](x)[:, :, -1]), y)

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=4e-3))


@case(library="transformers", source=MODEL_DOC + "time_series_transformer")
def time_series_transformer_with_a_student_t():
    config = TimeSeriesTransformerConfig(
        prediction_length=8, context_length=16, lags_sequence=[1, 2, 7], num_time_features=2,
        num_static_categorical_features=1, cardinality=[5], embedding_dimension=[4],
        d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=32, decoder_ffn_dim=32,
    )  # fmt: skip
    model = TimeSeriesTransformerForPrediction(config).train()
    past, future = torch.randn(4, 23).cumsum(1) + 10, torch.randn(4, 8) + 10
    observed = (torch.rand(4, 23) > 0.1).float()
    series = {
        "past_values": past * observed,
        "past_observed_mask": observed,
        "past_time_features": torch.randn(4, 23, 2),
        "future_values": future,
        "future_time_features": torch.randn(4, 8, 2),
        "static_categorical_features": torch.randint(5, (4, 1)),
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    return Step(model, lambda: model(**series).loss, optimizer)


@case(library="transformers", source=MODEL_DOC + "autoformer")
def autoformer():
    config = AutoformerConfig(
        prediction_length=8, context_length=16, lags_sequence=[1, 2, 7], num_time_features=2,
        d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=32, decoder_ffn_dim=32,
        moving_average=5, label_length=4,
    )  # fmt: skip
    model = AutoformerForPrediction(config).train()
    series = {
        "past_values": torch.randn(4, 23).cumsum(1),
        "past_observed_mask": torch.ones(4, 23),
        "past_time_features": torch.randn(4, 23, 2),
        "future_values": torch.randn(4, 8),
        "future_time_features": torch.randn(4, 8, 2),
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.1)
    return Step(model, lambda: model(**series).loss, optimizer)


def small_patchtst(**others):
    return PatchTSTConfig(
        num_input_channels=3, context_length=32, patch_length=8, patch_stride=4, d_model=16,
        num_hidden_layers=2, num_attention_heads=2, ffn_dim=32, dropout=0.2, **others,
    )  # fmt: skip


@case(library="transformers", source=MODEL_DOC + "patchtst")
def patchtst_forecast():
    model = PatchTSTForPrediction(small_patchtst(prediction_length=8)).train()
    past, future = torch.randn(4, 32, 3), torch.randn(4, 8, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Step(model, lambda: model(past_values=past, future_values=future).loss, optimizer)


@case(library="transformers", source=MODEL_DOC + "patchtst")
def patchtst_masked_pretraining():
    config = small_patchtst(do_mask_input=True, mask_type="random", random_mask_ratio=0.4)
    model = PatchTSTForPretraining(config).train()
    past = torch.randn(4, 32, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Step(model, lambda: model(past_values=past).loss, optimizer)


class QuantileForecaster(nn.Module):
    """The encoder and the two decoders of MQ-RNN."""

    def __init__(self, horizon=6, quantiles=3, width=24):
        super().__init__()
        self.encoder = nn.LSTM(2, width, batch_first=True)
        self.global_decoder = nn.Sequential(
            nn.Linear(width + horizon, 32), nn.ReLU(), nn.Linear(32, horizon * 8 + 8)
        )
        self.local_decoder = nn.Sequential(nn.Linear(17, 16), nn.ReLU(), nn.Linear(16, quantiles))
        self.horizon = horizon

    def forward(self, past, calendar):
        _, (hidden, _) = self.encoder(past)
        context = self.global_decoder(torch.cat([hidden[-1], calendar], dim=1))
        each, overall = context[:, :-8].view(-1, self.horizon, 8), context[:, None, -8:]
        overall = overall.expand(-1, self.horizon, -1)
        return self.local_decoder(torch.cat([each, overall, calendar[..., None]], dim=2))


@case(library="torch", source="https://arxiv.org/abs/1711.11053")
def forecast_of_quantiles():
    model, levels = QuantileForecaster(), torch.tensor([0.1, 0.5, 0.9])
    past, calendar, future = torch.randn(8, 24, 2), torch.rand(8, 6), torch.randn(8, 6)

    def compute():
        error = future.unsqueeze(-1) - model(past, calendar)
        return torch.max((levels - 1) * error, levels * error).sum(dim=-1).mean()

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-3))
