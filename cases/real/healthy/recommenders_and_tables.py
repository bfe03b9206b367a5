"""Recommenders, knowledge graphs and tables: most rows of an embedding are not looked up."""

import torch
import transformers as tf
from pytorch_tabnet.tab_network import TabNet
from rtdl_num_embeddings import PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins
from rtdl_revisiting_models import MLP, CategoricalEmbeddings, FTTransformer, ResNet
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import DeepSetsAggregation, DistMult, LightGCN, RotatE, TransE

from cases.case import Step, case

PYG = "https://github.com/pyg-team/pytorch_geometric/blob/master/examples/"
RTDL = "https://github.com/yandex-research/rtdl-revisiting-models"


def table(rows=32):
    """Numbers and categories, as most tables have them."""
    return torch.randn(rows, 5), torch.stack([torch.randint(0, n, (rows,)) for n in (3, 50)], 1)


def triplets():
    """Head, relation and tail of facts."""
    return torch.randint(0, 200, (8,)), torch.randint(0, 10, (8,)), torch.randint(0, 200, (8,))


@case(library="torch_geometric", source=PYG + "lightgcn.py")
def lightgcn_ranking():
    """Users and items; most of them are not in this batch."""
    users, items = torch.randint(0, 40, (60,)), torch.randint(40, 100, (60,))
    edges = torch.cat([torch.stack([users, items]), torch.stack([items, users])], dim=1)
    model = LightGCN(100, embedding_dim=16, num_layers=2)
    wrong = torch.stack([users[:8], torch.randint(40, 100, (8,))])
    pairs = torch.cat([edges[:, :8], wrong], dim=1)

    def compute():
        right, wrong = model(edges, pairs).chunk(2)
        return model.recommendation_loss(right, wrong, node_id=pairs.unique())

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=0.001))


@case(library="torch_geometric", source=PYG + "kge_fb15k_237.py")
def transe_knowledge_graph():
    model = TransE(200, 10, hidden_channels=16)
    facts = triplets()
    return Step(model, lambda: model.loss(*facts), torch.optim.Adam(model.parameters(), lr=0.01))


@case(library="torch_geometric", source=PYG + "kge_fb15k_237.py")
def rotate_knowledge_graph():
    model = RotatE(200, 10, hidden_channels=16, margin=9.0)
    facts = triplets()
    return Step(model, lambda: model.loss(*facts), torch.optim.Adam(model.parameters(), lr=1e-3))


@case(
    library="torch_geometric",
    source="https://docs.pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html",
)
def distmult_sparse_gradients():
    model = DistMult(200, 10, hidden_channels=16, sparse=True)
    facts = triplets()
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.01)
    return Step(model, lambda: model.loss(*facts), optimizer)


@case(library="torch_geometric", source="https://arxiv.org/abs/1703.06114")
def deep_sets():
    """The sum of the numbers in a set, as in the paper; sets differ in size."""
    inner, outer = nn.Sequential(nn.Linear(4, 16), nn.Tanh()), nn.Linear(16, 1)
    model = DeepSetsAggregation(local_nn=inner, global_nn=outer)
    x, which = torch.randn(30, 4), torch.randint(0, 6, (30,)).sort().values
    goal = torch.zeros(6).index_add(0, which, x.sum(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return Step(model, lambda: F.mse_loss(model(x, which, dim_size=6).squeeze(1), goal), optimizer)


@case(library="rtdl_revisiting_models", source=RTDL)
def ft_transformer():
    model = FTTransformer(
        n_cont_features=5, cat_cardinalities=[3, 50], d_out=1, n_blocks=2, d_block=16,
        attention_n_heads=4, attention_dropout=0.2, ffn_d_hidden=None,
        ffn_d_hidden_multiplier=2.0, ffn_dropout=0.1, residual_dropout=0.0,
    )  # fmt: skip
    numbers, categories = table()
    labels = (torch.rand(32) < 0.5).float()
    optimizer = torch.optim.AdamW(model.make_parameter_groups(), lr=1e-3, weight_decay=1e-5)

    def compute():
        logits = model(numbers, categories).squeeze(-1)
        return F.binary_cross_entropy_with_logits(logits, labels)

    return Step(model, compute, optimizer)


@case(library="rtdl_revisiting_models", source=RTDL)
def resnet_for_tables():
    model = ResNet(
        d_in=5, d_out=1, n_blocks=2, d_block=16, d_hidden=None, d_hidden_multiplier=2.0,
        dropout1=0.3, dropout2=0.0,
    )  # fmt: skip
    numbers, _ = table()
    goal = numbers.sum(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Step(model, lambda: F.mse_loss(model(numbers).squeeze(-1), goal), optimizer)


@case(
    library="rtdl_num_embeddings", source="https://github.com/yandex-research/rtdl-num-embeddings"
)
def periodic_embeddings_of_numbers():
    embed = PeriodicEmbeddings(5, 8, lite=False)
    model = nn.Sequential(
        embed, nn.Flatten(), MLP(d_in=40, d_out=1, n_blocks=2, d_block=16, dropout=0.1)
    )
    numbers, _ = table()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Step(model, lambda: F.mse_loss(model(numbers).squeeze(-1), numbers.sum(1)), optimizer)


@case(
    library="rtdl_num_embeddings", source="https://github.com/yandex-research/rtdl-num-embeddings"
)
def piecewise_linear_embeddings_of_numbers():
    """The bins are those of all data; some are empty in this batch."""
    everything = torch.randn(300, 5)
    embed = PiecewiseLinearEmbeddings(
        compute_bins(everything, n_bins=16), 4, activation=False, version="B"
    )
    head = MLP(d_in=20, d_out=1, n_blocks=1, d_block=16, dropout=0.1)
    model = nn.Sequential(embed, nn.Flatten(), head)
    numbers = everything[:16]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Step(model, lambda: F.mse_loss(model(numbers).squeeze(-1), numbers.sum(1)), optimizer)


@case(library="rtdl_revisiting_models", source="https://arxiv.org/abs/1606.07792")
def wide_and_deep():
    """Crossed features have a weight each; numbers and categories go through the deep part."""
    model = nn.ModuleDict({"wide": nn.EmbeddingBag(1000, 1, mode="sum")})
    model["embed"] = CategoricalEmbeddings([3, 50], 4)
    model["deep"] = MLP(d_in=13, d_out=1, n_blocks=2, d_block=16, dropout=0.1)
    (numbers, categories), crosses = table(), torch.randint(0, 1000, (32, 3))
    bought = (torch.rand(32) < 0.3).float()

    def compute():
        embedded = model["embed"](categories).flatten(1)
        logits = model["wide"](crosses) + model["deep"](torch.cat([numbers, embedded], dim=1))
        return F.binary_cross_entropy_with_logits(logits.squeeze(1), bought)

    return Step(model, compute, torch.optim.Adagrad(model.parameters(), lr=0.05))


@case(library="pytorch_tabnet", source="https://github.com/dreamquark-ai/tabnet")
def tabnet():
    """The loss of the library's fit(). The library never calls the layer `tabnet.initial_bn`."""
    numbers, categories = table(64)
    model = TabNet(
        7, 3, n_d=8, n_a=8, n_steps=3, cat_idxs=[5, 6], cat_dims=[3, 50], cat_emb_dim=[2, 2],
        virtual_batch_size=32, group_attention_matrix=torch.eye(7),
    )  # fmt: skip
    x, labels = torch.cat([numbers, categories.float()], 1), torch.randint(0, 3, (64,))

    def compute():
        output, sparsity = model(x)
        return F.cross_entropy(output, labels) - 1e-3 * sparsity

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=0.02))


@case(
    library="transformers",
    source="https://sbert.net/docs/package_reference/cross_encoder/losses.html",
)
def ranking_padded_lists():
    """ListNet over documents of a query; lists are padded, and padding has score -1e16."""
    config = tf.BertConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=4, max_position_embeddings=32, num_labels=1,
    )  # fmt: skip
    model = tf.AutoModelForSequenceClassification.from_config(config).train()
    there = torch.arange(4) < torch.tensor([4, 3, 2])[:, None]
    pairs, grades = torch.randint(3, 100, (int(there.sum()), 10)), torch.randint(0, 3, (3, 4))

    def compute():
        scores = torch.full((3, 4), -1e16)
        scores[there] = model(input_ids=pairs).logits.squeeze(1)
        wanted = grades.float().masked_fill(~there, -1e16).softmax(1)
        return -(wanted * scores.log_softmax(1)).sum(1).mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-3))


@case(library="transformers", source="https://arxiv.org/abs/1904.06690")
def bert4rec():
    """A history of purchases, padded on the left; one item of each is masked."""
    config = tf.BertConfig(
        vocab_size=500, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=4, max_position_embeddings=32,
    )  # fmt: skip
    model = tf.AutoModelForMaskedLM.from_config(config).train()
    items, mask = torch.randint(2, 500, (6, 12)), torch.ones(6, 12, dtype=torch.long)
    mask[0, :7] = mask[3, :4] = 0
    labels = torch.full((6, 12), -100)
    labels[:, -1] = items[:, -1]
    items[:, -1] = 1
    items = items * mask

    def compute():
        return model(input_ids=items, attention_mask=mask, labels=labels).loss

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-3))
