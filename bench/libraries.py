"""Models and functions of other libraries, small ones, against eager: results, gradients, fallbacks and time, each in a process of its own.

    .venv/bin/python bench/libraries.py [NAME ...] [--threads 1] [--seconds 0.4] [--json FILE]

A name is a library's and what of it, as kornia.color. What is not installed is left out and counted; nothing is downloaded. What is printed bench/architectures.py says.
"""

import architectures
import torch

F = torch.nn.functional
CASES = {}


class Function(torch.nn.Module):
    """Of inputs by name; `parts` are modules that come before them."""

    def __init__(self, function, parts=()):
        super().__init__()
        self.function, self.parts = function, torch.nn.ModuleList(parts)

    def forward(self, **inputs):
        return self.function(*self.parts, *inputs.values())


def case(name, *shapes):
    """The decorated function gives a module, or what is computed of it and the inputs. A shape is of numbers from 0 to 1, a tuple of a bound and a shape of integers below it."""

    def decorate(make):
        def prepare():
            made = make()
            inputs = {f"x{i}": torch.randint(0, s[0], s[1]) if isinstance(s[-1], tuple) else torch.rand(s) for i, s in enumerate(shapes)}
            module, parts = (made, ()) if not isinstance(made, tuple) else (made[0], made[1:])
            if isinstance(module, torch.nn.Module):
                module, parts = (lambda module, *x: module(*x)), (module,)
            return architectures.without_dropout(Function(module, parts)).eval(), inputs

        CASES[name] = prepare
        return make

    return decorate


IMAGES, VOLUME, TOKENS = (2, 3, 64, 64), (1, 1, 32, 32, 32), (100, (2, 32))


@case("kornia.filters", IMAGES)
def _():
    from kornia import filters as K

    return lambda x: (K.gaussian_blur2d(x, (5, 5), (1.5, 1.5)), K.sobel(x), K.median_blur(x, (3, 3)), K.canny(x)[0], K.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)))


@case("kornia.geometry", IMAGES)
def _():
    from kornia import geometry as K

    return lambda x: (K.rotate(x, torch.tensor([10.0, -20.0], device=x.device)), K.resize(x, (48, 40)), K.pyrdown(x))


@case("kornia.color", IMAGES)
def _():
    from kornia import color as K

    return lambda x: (K.rgb_to_hsv(x), K.rgb_to_lab(x), K.rgb_to_yuv(x), K.rgb_to_hls(x), K.rgb_to_luv(x), K.rgb_to_xyz(x))


@case("kornia.losses", IMAGES, IMAGES)
def _():
    from kornia import losses as K

    return lambda x, y: (K.ssim_loss(x, y, 5), K.psnr_loss(x, y, 1.0), K.total_variation(x), K.charbonnier_loss(x, y))


@case("kornia.enhance", IMAGES)
def _():
    from kornia import enhance as K

    return lambda x: (K.adjust_hue(x, 0.1), K.adjust_saturation(x, 1.3), K.equalize(x), K.posterize(x, 3), K.sharpness(x, 0.5), K.solarize(x, 0.4))


@case("kornia.features", (1, 1, 64, 64), (8, 1, 32, 32))
def _():
    from kornia import feature as K

    return (lambda sift, x, y: (K.harris_response(x), K.gftt_response(x), K.hessian_response(x), sift(y))), K.SIFTDescriptor(32)


for decoder in ("Unet", "UnetPlusPlus", "MAnet", "FPN", "PSPNet", "DeepLabV3Plus", "UPerNet", "Segformer"):

    @case(f"segmentation_models_pytorch.{decoder}", IMAGES)
    def _(decoder=decoder):
        import segmentation_models_pytorch

        return getattr(segmentation_models_pytorch, decoder)(encoder_name="resnet18", encoder_weights=None, classes=3)


for name, arguments in {"UNet": (3, 1, 2, (8, 16, 32), (2, 2)), "UNETR": (1, 2, (32, 32, 32), 8, 64, 128, 4), "SegResNet": (3, 8, 1, 2), "DynUNet": (3, 1, 2, [3] * 3, [1, 2, 2], [2, 2]), "VNet": (3, 1, 2)}.items():

    @case(f"monai.{name}", VOLUME)
    def _(name=name, arguments=arguments):
        from monai.networks import nets

        return getattr(nets, name)(*arguments)


for name in ("yolov5n", "yolov8n", "yolov8n-seg", "yolo11n", "yolov10n"):

    @case(f"ultralytics.{name}", (1, 3, 128, 128))
    def _(name=name):
        from ultralytics.nn import tasks

        return (tasks.SegmentationModel if "seg" in name else tasks.DetectionModel)(f"{name}.yaml", ch=3, verbose=False)


@case("segment_anything.encoder", (1, 3, 128, 128))
def _():
    from segment_anything.modeling import ImageEncoderViT

    return ImageEncoderViT(128, 16, embed_dim=64, depth=2, num_heads=4, out_chans=32, use_rel_pos=True, window_size=4, global_attn_indexes=(1,))


@case("open_clip.CLIP", IMAGES, (200, (2, 16)))
def _():
    from open_clip import model

    return model.CLIP(64, model.CLIPVisionCfg(layers=2, width=64, patch_size=16, image_size=64), model.CLIPTextCfg(layers=2, width=64, heads=4, vocab_size=200, context_length=16))


for name, options in {
    "rotary": {"rotary_pos_emb": True}, "alibi": {"alibi_pos_bias": True}, "t5": {"rel_pos_bias": True}, "glu": {"use_rmsnorm": True, "ff_glu": True}, "macaron": {"macaron": True},
    "qk_norm": {"attn_qk_norm": True}, "one_kv_head": {"attn_one_kv_head": True}, "memory": {"attn_num_mem_kv": 4}, "topk": {"attn_sparse_topk": 4}, "residual": {"residual_attn": True},
}.items():  # fmt: skip

    @case(f"x_transformers.{name}", TOKENS)
    def _(options=options):
        import x_transformers

        return x_transformers.TransformerWrapper(num_tokens=100, max_seq_len=64, attn_layers=x_transformers.Decoder(dim=64, depth=2, heads=4, **options))


for name, options in {
    "cait.CaiT": {"image_size": 64, "patch_size": 16, "dim": 64, "depth": 2, "cls_depth": 2, "heads": 4, "mlp_dim": 128},
    "t2t.T2TViT": {"image_size": 64, "dim": 64, "depth": 2, "heads": 4, "mlp_dim": 128, "t2t_layers": ((7, 4), (3, 2), (3, 2))},
    "cross_vit.CrossViT": {"image_size": 64, "depth": 2, "sm_dim": 48, "sm_patch_size": 16, "lg_dim": 64, "lg_patch_size": 32},
    "levit.LeViT": {"image_size": 64, "stages": 3, "dim": (32, 48, 64), "depth": 1, "heads": (2, 3, 4), "mlp_mult": 2},
    "cvt.CvT": {},
    "nest.NesT": {"image_size": 64, "patch_size": 4, "dim": 32, "heads": 2, "num_hierarchies": 3, "block_repeats": (1, 1, 1)},
    "xcit.XCiT": {"image_size": 64, "patch_size": 16, "dim": 64, "depth": 2, "cls_depth": 1, "heads": 4, "mlp_dim": 128, "local_patch_kernel_size": 3},
}.items():

    @case(f"vit_pytorch.{name}", IMAGES)
    def _(name=name, options=options):
        import importlib

        module, _, model = name.partition(".")
        return getattr(importlib.import_module(f"vit_pytorch.{module}"), model)(num_classes=10, **options)


@case("perceiver_pytorch.Perceiver", (1, 32, 32, 3))
def _():
    from perceiver_pytorch import Perceiver

    return Perceiver(input_channels=3, input_axis=2, num_freq_bands=4, max_freq=10.0, depth=2, num_latents=16, latent_dim=64, latent_heads=4, cross_dim_head=16, latent_dim_head=16, num_classes=10)


@case("denoising_diffusion_pytorch.Unet", (1, 3, 32, 32), (10, (1,)))
def _():
    from denoising_diffusion_pytorch import Unet

    return Unet(dim=16, dim_mults=(1, 2, 4), flash_attn=False)


@case("vector_quantize_pytorch.ResidualVQ", (1, 128, 32))
def _():
    from vector_quantize_pytorch import ResidualVQ

    return ResidualVQ(dim=32, codebook_size=64, num_quantizers=3)


@case("mambapy.Mamba", (2, 32, 32))
def _():
    from mambapy.mamba import Mamba, MambaConfig

    return Mamba(MambaConfig(d_model=32, n_layers=2))


@case("speechbrain.ECAPA", (2, 60, 40))
def _():
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN

    return ECAPA_TDNN(40, lin_neurons=32, channels=[32, 32, 32, 32, 96], attention_channels=16, se_channels=16)


@case("speechbrain.Conformer", (2, 50, 64))
def _():
    from speechbrain.lobes.models.transformer.Conformer import ConformerEncoder
    from speechbrain.nnet.attention import RelPosEncXL

    return (lambda encoder, positions, x: encoder(x, pos_embs=positions(x))[0]), ConformerEncoder(2, 64, 64, 4, dropout=0.0, kernel_size=15, attention_type="RelPosMHAXL"), RelPosEncXL(64)


@case("torchdiffeq.rk4", (32, 4))
def _():
    from torchdiffeq import odeint

    return (lambda f, x: odeint(lambda t, y: f(y), x, torch.linspace(0, 1, 6, device=x.device), method="rk4")), torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4))


@case("zuko.NSF", (64, 3))
def _():
    import zuko

    return (lambda flow, x: flow().log_prob(x)), zuko.flows.NSF(3, transforms=2, hidden_features=(32, 32))


@case("nflows.Flow", (64, 4))
def _():
    from nflows import distributions, flows, transforms

    layers = [transforms.ReversePermutation(4), transforms.MaskedAffineAutoregressiveTransform(4, 32)]
    return (lambda flow, x: flow.log_prob(x)), flows.Flow(transforms.CompositeTransform(layers), distributions.StandardNormal([4]))


@case("e3nn.tensor_product", (32, 20), (32, 4))
def _():
    from e3nn import o3

    return o3.FullyConnectedTensorProduct("8x0e+4x1o", "1x0e+1x1o", "8x0e+4x1o")


@case("stable_baselines3.PPO", (64, 8), (64, 2), (64,))
def _():
    import gymnasium
    from stable_baselines3.common.policies import ActorCriticPolicy

    policy = ActorCriticPolicy(gymnasium.spaces.Box(-1, 1, (8,)), gymnasium.spaces.Box(-1, 1, (2,)), lambda _: 3e-4)
    return (lambda policy, seen, done, gain: [gain * policy.evaluate_actions(seen, done)[1].exp(), *policy.evaluate_actions(seen, done)]), policy


@case("torch.distributions", (64,), (64,))
def _():
    D = torch.distributions

    def densities(x, y):
        beta, gamma, normal = D.Beta(x + 0.5, y + 0.5), D.Gamma(x + 0.5, y + 0.5), D.Normal(x, y + 0.5)
        return beta.log_prob(y * 0.9 + 0.05), beta.entropy(), gamma.log_prob(y + 0.1), normal.cdf(y), D.kl_divergence(gamma, D.Gamma(y + 0.5, x + 0.5)), D.StudentT(x + 1, y).log_prob(x)

    return densities


@case("torch.func", (8, 16), (16, 4), (32, 8))
def _():
    def transformed(v, w, x):
        net = lambda x: (x @ v).tanh() @ w
        return torch.func.vmap(torch.func.jacrev(net))(x), torch.func.vmap(torch.func.hessian(lambda x: net(x).sum()))(x)

    return transformed


if __name__ == "__main__":
    architectures.main(__doc__.split("\n")[0], __file__, lambda name: CASES[name](), CASES)
