"""The doctor as a callback in the real Trainers of Lightning and transformers.

python -m real.in_trainers     raises AssertionError if one of them does not do what it should
"""

import tempfile
import warnings

import lightning
import torch
import transformers
from torch import nn

from autograd_surprises.trainers import LightningDoctor, TransformersDoctor

SIZES = {"doctor/gradient_norm", "doctor/moved_share"}
WAYS = [(log, bad) for log in (False, True) for bad in (None, 3)]


class Small(lightning.LightningModule):
    """Two layers; from the batch with the number `bad` on, its loss is NaN."""

    def __init__(self, bad):
        super().__init__()
        self.layers, self.bad = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), bad

    def training_step(self, batch, number):
        loss = (self.layers(batch[0]) - batch[1]).square().mean()
        return loss if self.bad is None or number < self.bad else (loss * 0).log() * 0

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def in_lightning(log: bool, bad: int | None, callbacks: list) -> tuple[dict, torch.Tensor]:
    """What was logged, and the weights after an epoch of 8 steps."""
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    module = Small(bad)
    trainer = lightning.Trainer(
        max_epochs=1, callbacks=callbacks, logger=False, accelerator="cpu", log_every_n_steps=1,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=8))
    return trainer.callback_metrics, module.layers[0].weight.detach()


class Classifier(nn.Module):
    """As small, in the form that transformers' Trainer takes."""

    def __init__(self, bad):
        super().__init__()
        self.layers, self.bad, self.calls = nn.Linear(4, 2), bad, 0

    def forward(self, x, labels):
        self.calls += 1
        loss = nn.functional.cross_entropy(self.layers(x), labels)
        return {"loss": loss if self.bad is None or self.calls <= self.bad else (loss * 0).log()}


def in_transformers(log: bool, bad: int | None, doctors: list) -> tuple[list[dict], torch.Tensor]:
    """The history of the logs, and the weights after 8 steps."""
    torch.manual_seed(0)
    model = Classifier(bad)
    data = [{"x": torch.randn(4), "labels": torch.tensor(i % 2)} for i in range(32)]
    with tempfile.TemporaryDirectory() as folder:
        options = transformers.TrainingArguments(
            folder, num_train_epochs=1, per_device_train_batch_size=4, logging_steps=2,
            report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True,
        )  # fmt: skip
        trainer = transformers.Trainer(model, options, train_dataset=data)
        for doctor in doctors:
            doctor.log = trainer.log if log else None
            trainer.add_callback(doctor)
        trainer.train()
    return trainer.state.log_history, model.layers.weight.detach()


def check(doctor, bad):
    steps = [report.step for report in doctor.watched.reports]
    assert steps == ([1] if bad is None else [1, bad + 1]), steps
    assert doctor.watched.step == 8 and doctor.watched.healthy == (bad is None)


def same(weight: torch.Tensor, other: torch.Tensor) -> bool:
    """To the last bit, or NaN in both."""
    return torch.equal(weight.nan_to_num(7.0), other.nan_to_num(7.0))


def main():
    warnings.simplefilter("ignore")
    for log, bad in WAYS:
        doctor = LightningDoctor(log=log)
        metrics, weight = in_lightning(log, bad, [doctor])
        check(doctor, bad)
        assert SIZES & {*metrics} == (SIZES if log else set()), metrics
        assert same(weight, in_lightning(log, bad, [])[1])
        doctor = TransformersDoctor()
        history, weight = in_transformers(log, bad, [doctor])
        check(doctor, bad)
        plain, unwatched = in_transformers(log, bad, [])
        assert same(weight, unwatched)
        losses = [[row["loss"] for row in rows if "loss" in row] for rows in (history, plain)]
        assert len(losses[0]) == len(losses[1]) == 4, losses
        logged = [row for row in history if {*row} >= SIZES]
        assert len(logged) == 4 * log, history


if __name__ == "__main__":
    main()
