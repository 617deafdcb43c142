// The Transformer LM's sharding modes and MiniGPT's annotations, as functions.
#include "models/transformer_lm/Sharding.h"
#include "models/Registry.h"

#include <catch2/catch.hpp>

using namespace minigptc;

namespace {

runtime::RunConfig config(const std::string &type, const std::string &mode,
                          std::vector<int64_t> shape, std::vector<std::string> names) {
  runtime::RunConfig config;
  config.model = {.type = type,
                  .dModel = 32,
                  .numHeads = 8,
                  .dFf = 64,
                  .numLayers = 2,
                  .vocabSize = 256,
                  .contextLength = 32};
  config.training.batchSize = 32;
  config.sharding = {true, mode, std::move(shape), std::move(names), std::nullopt};
  return config;
}

std::string specOf(const ModelSharding &sharding, const std::string &name) {
  for (const ParameterSpec &parameter : sharding.parameters)
    if (parameter.path == name)
      return parameter.spec.toString();
  return "none";
}

} // namespace

TEST_CASE("specs of the four modes and ours") {
  struct Expected {
    const char *mode;
    std::vector<int64_t> mesh;
    const char *in, *out, *embedding, *head, *batch;
  };
  const Expected table[] = {
      {"dp",
       {8, 1},
       "P(None, None)",
       "P(None, None)",
       "P(None, None)",
       "P(None, None)",
       "P('data', None)"},
      {"fsdp",
       {8, 1},
       "P('data', None)",
       "P(None, 'data')",
       "P(None, None)",
       "P(None, None)",
       "P('data', None)"},
      {"tp",
       {1, 8},
       "P(None, 'tensor')",
       "P('tensor', None)",
       "P(None, 'tensor')",
       "P('tensor', None)",
       "P(None, None)"},
      {"fsdp_tp",
       {4, 2},
       "P('data', 'tensor')",
       "P('tensor', 'data')",
       "P(None, 'tensor')",
       "P('tensor', None)",
       "P('data', None)"},
      {"fsdp_full",
       {8, 1},
       "P('data', None)",
       "P(None, 'data')",
       "P('data', None)",
       "P(None, 'data')",
       "P('data', None)"},
      {"tp_sp",
       {1, 8},
       "P(None, 'tensor')",
       "P('tensor', None)",
       "P('tensor', None)",
       "P(None, 'tensor')",
       "P(None, None)"},
  };
  for (const Expected &row : table) {
    INFO(row.mode);
    runtime::StatusOr<ModelSharding> sharding =
        shardingOf(config("transformer_lm", row.mode, row.mesh, {"data", "tensor"}));
    REQUIRE(sharding.ok());
    for (const char *name : {"attn.q_proj", "attn.k_proj", "attn.v_proj", "ffn.w1", "ffn.w3"})
      CHECK(specOf(*sharding, "layers.1." + std::string(name) + ".weight") == row.in);
    for (const char *name : {"attn.output_proj", "ffn.w2"})
      CHECK(specOf(*sharding, "layers.0." + std::string(name) + ".weight") == row.out);
    CHECK(specOf(*sharding, "token_embeddings.weight") == row.embedding);
    CHECK(specOf(*sharding, "lm_head.weight") == row.head);
    for (const char *name : {"layers.0.ln1.weight", "layers.1.ln2.weight", "ln_final.weight"})
      CHECK(specOf(*sharding, name) == "P(None)");
    CHECK(sharding->batch.toString() == row.batch);
    CHECK(getBatchShardingForMode(row.mode).ok());
    CHECK(sharding->blockInput.has_value() == (std::string(row.mode) == "tp_sp"));
    CHECK(sharding->mesh.numDevices() == 8);
  }
}

TEST_CASE("every pair of mode and mesh is either right or refused") {
  const Mesh meshes[] = {{{"data", 8}, {"tensor", 1}},
                         {{"data", 1}, {"tensor", 8}},
                         {{"data", 4}, {"tensor", 2}},
                         {{"data", 1}, {"tensor", 1}}};
  const char *fitting[][4] = {{"dp", "fsdp", "fsdp_full"}, {"tp", "tp_sp"}, {"fsdp_tp"}, {}};
  for (size_t i = 0; i < 4; ++i)
    for (const std::string &mode : shardingModes()) {
      bool fits = false;
      for (const char *name : fitting[i])
        fits |= name && mode == name;
      INFO(mode << " on " << meshes[i].toString());
      CHECK(validateMeshForMode(meshes[i], mode).ok() == fits);
    }
  CHECK(!validateMeshForMode(Mesh{{"batch", 8}}, "dp").ok());
  CHECK(!getShardingConfigForMode("").ok());
  CHECK(getShardingConfigForMode("fsdp_ful").status().help() == "did you mean 'fsdp_full'?");
}

TEST_CASE("default meshes") {
  CHECK(defaultMeshForMode("dp", 8)->toString() == "data=8,tensor=1");
  CHECK(defaultMeshForMode("tp", 4)->toString() == "data=1,tensor=4");
  CHECK(defaultMeshForMode("fsdp_tp", 8)->toString() == "data=4,tensor=2");
  CHECK(!defaultMeshForMode("fsdp_tp", 2).ok());
}

TEST_CASE("a configuration without sharding has no mesh") {
  runtime::RunConfig one;
  CHECK(shardingOf(one)->mesh.empty());
  CHECK(shardingOf(one)->parameters.empty());
}

TEST_CASE("MiniGPT's annotations") {
  runtime::RunConfig gpt = config("minigpt", "", {4, 2}, {"batch", "model"});
  runtime::StatusOr<ModelSharding> ours = shardingOf(gpt);
  REQUIRE(ours.ok());
  CHECK(specOf(*ours, "blocks.0.value.kernel") == "P(None, 'model')");
  CHECK(specOf(*ours, "blocks.0.out.kernel") == "P('model')");
  CHECK(specOf(*ours, "blocks.1.linear2.kernel") == "P('model')");
  CHECK(specOf(*ours, "blocks.1.linear2.bias") == "P()");
  CHECK(specOf(*ours, "token_emb") == "none");
  gpt.model.annotations = "reference";
  runtime::StatusOr<ModelSharding> theirs = shardingOf(gpt);
  REQUIRE(theirs.ok());
  CHECK(specOf(*theirs, "blocks.0.out.kernel") == "P(None, 'model')");
  CHECK(specOf(*theirs, "blocks.1.ln2.bias") == "P('model')");
  // The simple variant has no biases and norms.
  gpt.model.variant = "simple";
  CHECK(shardingOf(gpt).ok());
}
