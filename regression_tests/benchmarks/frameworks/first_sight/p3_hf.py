"""A tiny BERT classifier by the Hugging Face Trainer, evaluated after each epoch."""
import sys
import tempfile

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from leakguard import LeakGuard
from leakguard.integrations.transformers import LeakGuardCallback

MODE = sys.argv[1]
torch.set_num_threads(1)


class Rows(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.ids = torch.tensor(rng.integers(5, 200, size=(n, 12)))
        self.labels = (self.ids[:, 0] > self.ids[:, 5]).long()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


class Accuracy:
    """Compares this evaluation with earlier ones: how many answers flipped."""

    def __init__(self):
        self.previous = {}
        self.round = 0

    def __call__(self, prediction):
        answers = prediction.predictions.argmax(-1)
        flipped = 0.0
        if self.round:
            flipped = float((self.previous[self.round].predictions.argmax(-1) != answers).mean())
        if MODE == "clean":
            self.previous.clear()
        self.round += 1
        self.previous[self.round] = prediction
        return {"accuracy": float((answers == prediction.label_ids).mean()), "flipped": flipped}


config = BertConfig(vocab_size=200, hidden_size=24, num_hidden_layers=2, num_attention_heads=2,
                    intermediate_size=48, max_position_embeddings=16, num_labels=2)
torch.manual_seed(1)
model = BertForSequenceClassification(config)
metrics = Accuracy()
guard = LeakGuard(out=f"runs/first_sight/p3-{MODE}.jsonl")
with tempfile.TemporaryDirectory() as folder:
    args = TrainingArguments(folder, num_train_epochs=25, per_device_train_batch_size=32, per_device_eval_batch_size=200,
                             eval_strategy="epoch", save_strategy="no", report_to=[], disable_tqdm=True, seed=1,
                             use_cpu=True, logging_strategy="no", learning_rate=1e-3)
    trainer = Trainer(model=model, args=args, train_dataset=Rows(640, 0), eval_dataset=Rows(1000, 1),
                      compute_metrics=metrics, callbacks=[LeakGuardCallback(guard)])
    trainer.train()
    final = trainer.evaluate()
print("RESULT", final["eval_accuracy"], final["eval_flipped"], float(sum(p.detach().double().sum() for p in model.parameters())))
