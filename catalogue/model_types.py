"""Row types of language models: what of their architecture decides memory, KV cache and parallelism."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Latent:
    """Multi-head latent attention: keys and values are cached as one vector of `kv_rank` + `rope_dim` per layer."""

    kv_rank: int
    query_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A mixture of experts: `count` routed experts of width `ffn` in each of `layers`, of which a token takes `active`.

    `shared` experts of the same width see every token. `bytes_per_parameter` is the experts' own where it differs.
    """

    count: int
    active: int
    ffn: int
    layers: int
    shared: int = 0
    bytes_per_parameter: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.active <= self.count or min(self.ffn, self.layers) < 1:
            raise ValueError(f"{self.active} of {self.count} experts of width {self.ffn} in {self.layers} layers")


@dataclass(frozen=True, kw_only=True)
class Model:
    """Architecture of a language model. Parameters in units, context in tokens, dtype of the published weights.

    `ffn` is the width of a dense layer's feed-forward part, `vocab` the rows of the embedding (padding included).
    `windowed_layers` attend to the last `window` tokens alone.
    """

    name: str
    parameters: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    context: int
    bytes_per_parameter: float
    source: str
    tied_embeddings: bool = False
    latent: Latent | None = None
    experts: Experts | None = None
    windowed_layers: int = 0
    window: int = 0

    def __post_init__(self) -> None:
        sizes = (self.parameters, self.layers, self.hidden, self.heads, self.kv_heads, self.head_dim, self.ffn)
        if min(*sizes, self.vocab, self.context, self.bytes_per_parameter) <= 0:
            raise ValueError(f"model {self.name} has a size of 0")
        if self.windowed_layers >= self.layers:
            raise ValueError(f"{self.windowed_layers} layers with a window of {self.layers} leave none without")
        if self.experts and self.experts.layers > self.layers:
            raise ValueError(f"{self.experts.layers} layers with experts are more than the {self.layers} there are")
        if self.expert_parameters >= self.parameters:
            raise ValueError(f"the experts alone are {self.expert_parameters} of {self.parameters} parameters")

    @property
    def attention_dim(self) -> float:
        """Width of a head's products; latent attention compares wider keys than the values it adds up: their mean."""
        if latent := self.latent:
            return (latent.nope_dim + latent.rope_dim + latent.value_dim) / 2
        return self.head_dim

    @property
    def parameters_per_expert(self) -> int:
        """Parameters of one expert in one layer: gate, up and down projection. 0 for a dense model."""
        return 3 * self.hidden * self.experts.ffn if self.experts else 0

    @property
    def expert_parameters(self) -> int:
        """Parameters of all routed experts of all layers, which expert parallelism divides."""
        return self.parameters_per_expert * self.experts.count * self.experts.layers if self.experts else 0

    @property
    def active_parameters(self) -> int:
        """Parameters that one token passes: all of a dense model, the chosen experts' of a mixture."""
        if self.experts is None:
            return self.parameters
        idle = self.experts.count - self.experts.active
        return self.parameters - self.parameters_per_expert * idle * self.experts.layers

    @property
    def gated(self) -> bool:
        """Whether the dense feed-forward part has a gate beside its two products, as the parameters tell.

        What embeddings and attention leave of the parameters is nearer to three matrices of hidden x ffn than to two.
        """
        dense = self.layers - (self.experts.layers if self.experts else 0)
        if self.experts or self.latent or not dense:
            return True
        attention = 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads) * self.layers
        rest = self.parameters - self.embedding_parameters - attention
        return rest > 2.5 * self.hidden * self.ffn * dense

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the embedding and the output layer."""
        return self.vocab * self.hidden * (1 if self.tied_embeddings else 2)

    @property
    def weights_bytes(self) -> int:
        """Size of the published weights in bytes."""
        experts = self.expert_parameters
        of_experts = self.experts.bytes_per_parameter if self.experts else None
        rest = self.parameters - experts
        return round(rest * self.bytes_per_parameter + experts * (of_experts or self.bytes_per_parameter))
