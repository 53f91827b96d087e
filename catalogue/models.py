"""Language models the services can name: the architecture that decides memory, KV cache and tensor parallelism."""

from catalogue.types import Model

MODELS = {
    model.name: model
    for model in (
        Model(
            name="llama-3-8b",
            parameters=8_030_261_248,
            layers=32,
            hidden=4096,
            heads=32,
            kv_heads=8,
            head_dim=128,
            context=8192,
            bytes_per_parameter=2,
            source="meta-llama/Meta-Llama-3-8B config.json and model card",
        ),
        Model(
            name="llama-3-70b",
            parameters=70_553_706_496,
            layers=80,
            hidden=8192,
            heads=64,
            kv_heads=8,
            head_dim=128,
            context=8192,
            bytes_per_parameter=2,
            source="meta-llama/Meta-Llama-3-70B config.json and model card",
        ),
        Model(
            name="llama-3.1-8b",
            parameters=8_030_261_248,
            layers=32,
            hidden=4096,
            heads=32,
            kv_heads=8,
            head_dim=128,
            context=131072,
            bytes_per_parameter=2,
            source="meta-llama/Llama-3.1-8B config.json and model card",
        ),
        Model(
            name="llama-3.1-70b",
            parameters=70_553_706_496,
            layers=80,
            hidden=8192,
            heads=64,
            kv_heads=8,
            head_dim=128,
            context=131072,
            bytes_per_parameter=2,
            source="meta-llama/Llama-3.1-70B config.json and model card",
        ),
    )
}
