"""Models that generate: diffusion, autoencoders, adversarial networks and normalizing flows."""

import torch
from diffusers import (
    AutoencoderKL,
    ControlNetModel,
    DDPMScheduler,
    DiTTransformer2DModel,
    FlowMatchEulerDiscreteScheduler,
    SD3Transformer2DModel,
    UNet2DConditionModel,
    UNet2DModel,
    VQModel,
)
from diffusers.training_utils import EMAModel, compute_snr
from torch import nn
from torch.nn import functional as F
from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

from cases.case import Step, case

DIFFUSERS = "https://github.com/huggingface/diffusers/blob/main/examples/"
DCGAN = "https://github.com/pytorch/examples/blob/main/dcgan/main.py"
GAN = "https://github.com/eriklindernoren/PyTorch-GAN/blob/master/implementations/"
VQ = "https://github.com/lucidrains/vector-quantize-pytorch/blob/master/examples/"
FLOWS = "https://github.com/VincentStimper/normalizing-flows/blob/master/examples/"
SNGAN = "https://github.com/christiancosgrove/pytorch-spectral-normalization-gan"


def small_unet(**others):
    return UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, block_out_channels=(16, 32),
        layers_per_block=1, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=16,
        attention_head_dim=8, norm_num_groups=8, **others,
    )  # fmt: skip


def noised(scheduler, clean):
    noise = torch.randn_like(clean)
    steps = torch.randint(0, scheduler.config.num_train_timesteps, (len(clean),)).long()
    return scheduler.add_noise(clean, noise, steps), noise, steps


@case(
    library="diffusers", source=DIFFUSERS + "unconditional_image_generation/train_unconditional.py"
)
def unconditional_unet_with_ema():
    model = UNet2DModel(
        sample_size=32, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), attention_head_dim=8,
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    averaged = EMAModel(model.parameters(), decay=0.9999, use_ema_warmup=True)
    scheduler, clean_images = DDPMScheduler(), torch.rand(4, 3, 32, 32) * 2 - 1
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.95, 0.999), weight_decay=1e-6
    )

    def compute():
        averaged.step(model.parameters())  # the script does this at the end of the step before
        noisy_images, noise, steps = noised(scheduler, clean_images)
        return F.mse_loss(model(noisy_images, steps).sample.float(), noise.float())

    return Step(model, compute, optimizer)


@case(library="diffusers", source=DIFFUSERS + "text_to_image/train_text_to_image.py")
def text_to_image_with_snr_weights():
    unet = small_unet()
    unet.enable_gradient_checkpointing()
    scheduler = DDPMScheduler(prediction_type="epsilon")
    vae = AutoencoderKL(block_out_channels=(16,), norm_num_groups=8, latent_channels=4)
    vae.requires_grad_(False)
    images, encoder_hidden_states = torch.rand(2, 3, 16, 16), torch.randn(2, 7, 16)

    def compute():
        latents = vae.encode(images).latent_dist.sample() * vae.config.scaling_factor
        noisy_latents, noise, steps = noised(scheduler, latents)
        predicted = unet(noisy_latents, steps, encoder_hidden_states, return_dict=False)[0]
        snr = compute_snr(scheduler, steps)
        weights = torch.stack([snr, 5.0 * torch.ones_like(steps)], dim=1).min(dim=1)[0] / snr
        loss = F.mse_loss(predicted.float(), noise.float(), reduction="none")
        return (loss.mean(dim=list(range(1, len(loss.shape)))) * weights).mean()

    return Step(unet, compute, torch.optim.AdamW(unet.parameters(), lr=1e-4, weight_decay=1e-2))


@case(library="diffusers", source=DIFFUSERS + "controlnet/train_controlnet.py")
def controlnet_with_zero_convolutions():
    unet = small_unet()
    controlnet = ControlNetModel.from_unet(unet, conditioning_embedding_out_channels=(8, 16))
    unet.requires_grad_(False)
    controlnet.train()
    scheduler, latents = DDPMScheduler(), torch.randn(2, 4, 16, 16)
    prompts, conditions = torch.randn(2, 7, 16), torch.rand(2, 3, 32, 32)
    optimizer = torch.optim.AdamW(controlnet.parameters(), lr=5e-6, weight_decay=1e-2)

    def compute():
        noisy_latents, noise, steps = noised(scheduler, latents)
        down, mid = controlnet(
            noisy_latents, steps, prompts, controlnet_cond=conditions, return_dict=False
        )
        predicted = unet(
            noisy_latents, steps, encoder_hidden_states=prompts,
            down_block_additional_residuals=down, mid_block_additional_residual=mid,
        ).sample  # fmt: skip
        return F.mse_loss(predicted.float(), noise.float(), reduction="mean")

    return Step(controlnet, compute, optimizer)


@case(library="diffusers", source=DIFFUSERS + "textual_inversion/textual_inversion.py")
def textual_inversion():
    unet = small_unet()
    unet.requires_grad_(False)
    embeddings = nn.Embedding(50, 16)  # the only thing that learns, and only its last row may
    original = embeddings.weight.detach().clone()
    scheduler, latents = DDPMScheduler(), torch.randn(2, 4, 16, 16)
    tokens = torch.tensor([[1, 4, 49, 2, 3], [1, 7, 9, 49, 3]])

    def compute():
        with torch.no_grad():  # the script puts the other rows back after each step
            embeddings.weight[:49] = original[:49]
        noisy_latents, noise, steps = noised(scheduler, latents)
        predicted = unet(noisy_latents, steps, embeddings(tokens)).sample
        return F.mse_loss(predicted.float(), noise.float(), reduction="mean")

    model = nn.ModuleDict({"text_encoder": embeddings, "unet": unet})
    return Step(model, compute, torch.optim.AdamW(embeddings.parameters(), lr=5e-4))


@case(library="diffusers", source="https://github.com/facebookresearch/DiT/blob/main/train.py")
def dit_with_adaln_zero():
    model = DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=16, in_channels=4, num_layers=2, sample_size=8,
        norm_num_groups=4, num_embeds_ada_norm=10,
    )  # fmt: skip
    for block in model.transformer_blocks:  # as the paper's initialize_weights does
        nn.init.zeros_(block.norm1.linear.weight)
        nn.init.zeros_(block.norm1.linear.bias)
    for layer in (model.proj_out_1, model.proj_out_2):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    scheduler, latents = DDPMScheduler(), torch.randn(4, 4, 8, 8)
    classes = torch.randint(10, (4,))

    def compute():
        noisy_latents, noise, steps = noised(scheduler, latents)
        predicted = model(noisy_latents, timestep=steps, class_labels=classes).sample
        return F.mse_loss(predicted, noise)

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0))


@case(library="diffusers", source=DIFFUSERS + "dreambooth/train_dreambooth_sd3.py")
def flow_matching_with_sd3():
    model = SD3Transformer2DModel(
        sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8,
        num_attention_heads=2, joint_attention_dim=16, caption_projection_dim=16,
        pooled_projection_dim=16, out_channels=4, pos_embed_max_size=8,
    )  # fmt: skip
    scheduler, latents = FlowMatchEulerDiscreteScheduler(), torch.randn(2, 4, 8, 8)
    prompts, pooled = torch.randn(2, 5, 16), torch.randn(2, 16)

    def compute():
        noise = torch.randn_like(latents)
        indices = (torch.sigmoid(torch.randn(2)) * scheduler.config.num_train_timesteps).long()
        steps, sigmas = scheduler.timesteps[indices], scheduler.sigmas[indices].view(-1, 1, 1, 1)
        noisy = (1.0 - sigmas) * latents + sigmas * noise
        predicted = model(noisy, prompts, pooled, steps, return_dict=False)[0]
        return ((predicted.float() - (noise - latents).float()) ** 2).reshape(2, -1).mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=1e-4))


@case(
    library="diffusers", source=DIFFUSERS + "research_projects/autoencoderkl/train_autoencoderkl.py"
)
def autoencoder_kl_with_adaptive_adversarial_weight():
    vae = AutoencoderKL(
        block_out_channels=(16, 32), norm_num_groups=8, latent_channels=4, layers_per_block=1,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    discriminator = nn.Sequential(
        nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(16, 32, 4, 2, 1, bias=False),
        nn.BatchNorm2d(32), nn.LeakyReLU(0.2, True), nn.Conv2d(32, 1, 4, 1, 1),
    )  # fmt: skip
    images = torch.rand(2, 3, 32, 32) * 2 - 1
    last_layer = vae.decoder.conv_out.weight

    def compute():
        posterior = vae.encode(images).latent_dist
        reconstructed = vae.decode(posterior.sample()).sample
        nll_loss = F.mse_loss(reconstructed, images, reduction="none").sum() / len(images)
        g_loss = -discriminator(reconstructed).mean()
        nll_grad = torch.autograd.grad(nll_loss, last_layer, retain_graph=True)[0]
        g_grad = torch.autograd.grad(g_loss, last_layer, retain_graph=True)[0]
        weight = (nll_grad.norm() / (g_grad.norm() + 1e-4)).clamp(0.0, 1e4).detach()
        return nll_loss + 1e-6 * posterior.kl().mean() + weight * g_loss

    return Step(vae, compute, torch.optim.AdamW(vae.parameters(), lr=4.5e-6, weight_decay=1e-2))


@case(library="diffusers", source=DIFFUSERS + "vqgan/train_vqgan.py")
def vq_model():
    model = VQModel(
        block_out_channels=(16, 32), norm_num_groups=8, latent_channels=4, num_vq_embeddings=32,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    images = torch.rand(2, 3, 32, 32) * 2 - 1

    def compute():
        output, commit_loss = model(images, return_dict=False)
        return F.mse_loss(output.float(), images.float()) + commit_loss.mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.99)))


class VQAutoencoder(nn.Module):
    """The autoencoder of the library's examples, around any quantizer."""

    def __init__(self, quantizer, width=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.MaxPool2d(2), nn.GELU(),
            nn.Conv2d(16, width, 3, padding=1), nn.MaxPool2d(2),
        )  # fmt: skip
        self.quantizer = quantizer
        self.decoder = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(width, 16, 3, padding=1), nn.GELU(),
            nn.Upsample(scale_factor=2), nn.Conv2d(16, 1, 3, padding=1),
        )  # fmt: skip

    def forward(self, x):
        codes, *rest = self.quantizer(self.encoder(x))
        return self.decoder(codes).clamp(-1, 1), rest


@case(library="vector_quantize_pytorch", source=VQ + "autoencoder.py")
def vector_quantization_with_moving_averages():
    model = VQAutoencoder(VectorQuantize(16, 64, accept_image_fmap=True, decay=0.8))
    images = torch.rand(4, 1, 28, 28) * 2 - 1

    def compute():
        out, (_, commit_loss) = model(images)
        return (out - images).abs().mean() + 10 * commit_loss

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=3e-4))


@case(library="vector_quantize_pytorch", source=VQ + "autoencoder_fsq.py")
def finite_scalar_quantizer():
    levels = [8, 6, 5]
    model = VQAutoencoder(FSQ(levels), width=len(levels))
    images = torch.rand(4, 1, 28, 28) * 2 - 1

    def compute():
        out, _ = model(images)
        return (out - images).abs().mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=3e-4))


@case(
    library="vector_quantize_pytorch",
    source="https://github.com/lucidrains/vector-quantize-pytorch",
)
def residual_quantizers_with_kmeans():
    encoder, decoder = nn.Sequential(nn.Linear(24, 16), nn.GELU()), nn.Linear(16, 24)
    quantizer = ResidualVQ(
        dim=16, num_quantizers=3, codebook_size=32, kmeans_init=True, threshold_ema_dead_code=2
    )
    model = nn.ModuleDict({"encoder": encoder, "quantizer": quantizer, "decoder": decoder})
    frames = torch.randn(4, 20, 24)

    def compute():
        quantized, _, commit_losses = quantizer(encoder(frames))
        return F.mse_loss(decoder(quantized), frames) + commit_losses.sum()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=3e-4))
