"""What one GPU of a pipeline stage computes: products, attention, sums over memory and experts, loss and optimizer.

Rates are those of `catalogue/calibration.py`. Products in FP8 are those of linear layers and experts; attention and the
output layer run in bf16, as the software leaves them.
"""

from dataclasses import dataclass

from catalogue.calibration import WIDTH_OF_HALF_RATE, Calibration, calibration
from catalogue.model_types import Model
from catalogue.types import Gpu
from planner.throughput import peak_tflops
from planner.training.job import Job, Layout, stage_layers
from planner.training.memory import bytes_per_parameter, states_per_gpu

_FLOPS_PER_TFLOP = 1e12
_BYTES_PER_TB = 1e12
_MULTIPLY_ADD = 2
_CAUSAL = 0.5
_ATTENTION_BACKWARD = 2.5
"""Fused attention has two products forward and five backward (Dao et al. 2022, FlashAttention)."""
_SCORE_BYTES, _SCORE_RATE = 37.5, 0.62
"""What attention that keeps its scores moves for each of them forward and backward, and the part of the memory's rate:
40.3 GB and 41.7 ms of 64 x 16 x 1,024 x 1,024 on an A100 with 1.555 TB/s (Dao et al. 2022, figure 2)."""
_PASSES_OVER_HIDDEN = 22
"""Times that a layer's norms, residuals, activations and casts read or write a bf16 hidden unit forward (assumed)."""
_PASSES_OVER_COPIES = 4
"""Times that a token's copies for its experts are read or written forward: sorted, activated, summed (fitted)."""
_MEMORY_PART = 0.85
_ACTIVATION_BYTES = 2
_LOGIT_BYTES = 4
_LOGIT_PASSES = 3


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Seconds of one micro-batch forward on the fullest stage's GPU. `experts_s` has all that experts add."""

    products_s: float
    attention_s: float
    memory_s: float
    experts_s: float
    output_s: float

    @property
    def forward_s(self) -> float:
        """All of it."""
        return self.products_s + self.attention_s + self.memory_s + self.experts_s + self.output_s

    def backward_s(self, *, full: bool, again: float) -> float:
        """Gradients of activations, and of weights where these are trained; `again` is what of the layers' forward pass
        is repeated before."""
        layers = self.products_s + self.memory_s + self.experts_s
        each = 2 if full else 1
        repeated = again * (layers + self.attention_s)
        return each * (layers + self.output_s) + _ATTENTION_BACKWARD * self.attention_s + repeated


def forward_pass(model: Model, job: Job, layout: Layout, gpu: Gpu) -> Pass:
    """A micro-batch's forward pass on the stage that takes longest, for which the others wait."""
    row = calibration(job.software, gpu, job.precision)
    plain = calibration(job.software, gpu, "bf16")
    tokens = job.micro_batch * job.sequence / layout.context / layout.tensor
    peak = peak_tflops(gpu) * _FLOPS_PER_TFLOP
    width = model.hidden / layout.tensor
    slow = width / (width + WIDTH_OF_HALF_RATE)
    wide = peak_tflops(gpu, job.precision) * _FLOPS_PER_TFLOP * row.peak_part
    bandwidth = gpu.memory_tb_per_s * _BYTES_PER_TB * _MEMORY_PART
    experts = model.experts
    routed = model.parameters_per_expert * experts.active * experts.layers if experts else 0
    body = model.active_parameters - routed - model.embedding_parameters
    scores = model.heads * job.sequence * tokens * model.layers
    moved = _PASSES_OVER_HIDDEN * model.hidden * _ACTIVATION_BYTES * model.layers
    output = model.hidden * model.vocab
    whole = Pass(
        products_s=_MULTIPLY_ADD * body * tokens / (wide * slow),
        attention_s=scores
        * (
            _CAUSAL * 2 * _MULTIPLY_ADD * model.attention_dim / (peak * row.attention_part)
            if job.fused_attention
            else _SCORE_BYTES / (1 + _ATTENTION_BACKWARD) / (gpu.memory_tb_per_s * _BYTES_PER_TB * _SCORE_RATE)
        ),
        memory_s=moved * tokens / bandwidth,
        experts_s=_experts_s(model, layout, row, tokens, wide, bandwidth),
        output_s=_MULTIPLY_ADD * output * tokens / (peak * plain.peak_part * slow),
    )
    part = _part_of_stage(whole, model.layers, layout) * (row.compiled_part if job.compiled else 1.0)
    return Pass(**{name: part * seconds for name, seconds in vars(whole).items()})


def _experts_s(model: Model, layout: Layout, row: Calibration, tokens: float, wide: float, bandwidth: float) -> float:
    """Products of the chosen experts at the `wide` rate, their tokens' copies, and what each expert of a GPU costs."""
    if (experts := model.experts) is None:
        return 0.0
    routed = model.parameters_per_expert * experts.active * experts.layers
    copied = _PASSES_OVER_COPIES * experts.active * model.hidden * _ACTIVATION_BYTES * experts.layers
    # The rows count an expert's costs forward and backward together; a third of them is forward.
    launched = experts.layers * experts.count / layout.expert * row.per_expert_s / 3
    return _MULTIPLY_ADD * routed * tokens / wide + copied * tokens / bandwidth + launched


def _part_of_stage(whole: Pass, layers: int, layout: Layout) -> float:
    """What the slowest stage has of all stages' time: the fullest one's layers, or the last one's with the output.

    A large vocabulary's output is as long as several layers, and the last stage has it besides its own (Yeung et al.
    2024, "Balancing Pipeline Parallelism with Vocabulary Parallelism"), one layer fewer where the ends count as layers.
    """
    fullest, last = stage_layers(layers, layout)
    each = (whole.forward_s - whole.output_s) / layers
    return max(fullest * each, last * each + whole.output_s) / whole.forward_s


def loss_s(model: Model, job: Job, layout: Layout, gpu: Gpu) -> float:
    """Seconds a step: the fp32 logits are written and read, and their gradient is written."""
    tokens = job.accumulation * job.micro_batch * job.sequence / layout.context
    moved = _LOGIT_PASSES * _LOGIT_BYTES * tokens * model.vocab / layout.tensor
    return moved / (gpu.memory_tb_per_s * _BYTES_PER_TB)


def optimizer_s(model: Model, job: Job, layout: Layout, gpu: Gpu) -> float:
    """Seconds a step: master copy and moments are read and written, the gradient is read, the weight is written."""
    each = bytes_per_parameter(job)
    share = states_per_gpu(job, model, layout).optimizer / each.optimizer
    moved = share * (2 * each.optimizer + each.gradients + each.weights)
    return moved / (gpu.memory_tb_per_s * _BYTES_PER_TB)
