//===- ExplainJson.cpp - a plan for programs ------------------------------===//
#include "minigptc/compiler/Explain.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace minigptc;
using llvm::json::OStream;

namespace {

template <typename List> void strings(OStream &json, llvm::StringRef name, const List &list) {
  json.attributeArray(name, [&] {
    for (const std::string &text : list)
      json.value(text);
  });
}
void sizes(OStream &json, llvm::StringRef name, const Shape &shape) {
  json.attributeArray(name, [&] {
    for (int64_t size : shape)
      json.value(size);
  });
}

void writeCollective(OStream &json, const ExplainedCollective &one, bool overlaps) {
  json.object([&] {
    json.attribute("kind", one.kind);
    strings(json, "axes", one.axes);
    json.attribute("phase", one.phase);
    if (one.stage >= 0)
      json.attribute("stage", one.stage);
    json.attribute("count", one.count);
    json.attribute("bytes", int64_t(one.bytes + 0.5));
    json.attribute("tensor", one.tensor);
    json.attribute("why", one.why);
    strings(json, "at", one.at);
    json.attribute("annotation", one.annotation);
    json.attribute("instead", one.instead);
    if (!overlaps)
      return;
    strings(json, "beside", one.beside);
    json.attribute("flops_beside", one.besideFlops);
    json.attribute("behind", one.behind);
    json.attribute("before", one.before);
  });
}

void writeTotals(OStream &json, const Explanation &plan) {
  struct Total {
    int64_t count = 0;
    double bytes = 0;
  };
  std::map<std::string, Total> kinds;
  int64_t stage = plan.busiestStage();
  if (stage >= 0)
    json.attribute("stage", stage);
  for (const ExplainedCollective &one : plan.collectives) {
    if (one.stage != stage)
      continue;
    kinds[one.kind].count += one.count;
    kinds[one.kind].bytes += one.bytes;
  }
  json.attribute("count", plan.count());
  json.attribute("bytes", int64_t(plan.bytes() + 0.5));
  if (plan.overlaps) {
    json.attribute("bytes_beside", int64_t(plan.bytesBeside() + 0.5));
    json.attribute("flops", plan.flops);
  }
  json.attributeObject("by_kind", [&] {
    for (const auto &[kind, total] : kinds)
      json.attributeObject(kind, [&] {
        json.attribute("count", total.count);
        json.attribute("bytes", int64_t(total.bytes + 0.5));
      });
  });
}

void writeMemory(OStream &json, const ExplainedMemory &memory) {
  json.attribute("parameters", memory.parameters);
  json.attribute("gradients", memory.gradients);
  json.attribute("optimizer", memory.optimizer);
  json.attribute("activations", memory.activations);
  json.attribute("workspace", memory.workspace);
  json.attribute("total", memory.total());
}

void writeParameter(OStream &json, const ExplainedParameter &parameter, const Mesh &mesh) {
  json.object([&] {
    json.attribute("name", parameter.name);
    sizes(json, "shape", parameter.type.shape);
    json.attributeArray("spec", [&] {
      for (const DimSpec &dim : parameter.spec.dims)
        json.array([&] {
          for (const std::string &axis : dim.axes)
            json.value(axis);
        });
    });
    sizes(json, "local_shape", parameter.localShape);
    if (!parameter.spec.stages.empty())
      sizes(json, "stages", parameter.spec.stages);
    json.attributeArray("devices", [&] {
      for (int64_t device = 0; device < mesh.numDevices(); ++device) {
        if (!parameter.spec.isOn(device, mesh))
          continue;
        json.object([&] {
          json.attribute("device", device);
          sizes(json, "start", shardOf(parameter.type.shape, parameter.spec, mesh, device).start);
        });
      }
    });
  });
}

} // namespace

std::string minigptc::toJson(const Explanation &plan) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream, 1);
  json.object([&] {
    json.attributeObject("mesh", [&] {
      for (const MeshAxis &axis : plan.mesh.axes())
        json.attribute(axis.name, axis.size);
    });
    json.attributeArray("collectives", [&] {
      for (const ExplainedCollective &one : plan.collectives)
        writeCollective(json, one, plan.overlaps);
    });
    json.attributeObject("totals", [&] { writeTotals(json, plan); });
    json.attributeObject("memory_per_device", [&] { writeMemory(json, plan.memory); });
    if (!plan.stageMemory.empty())
      json.attributeArray("memory_by_stage", [&] {
        for (const ExplainedMemory &memory : plan.stageMemory)
          json.object([&] { writeMemory(json, memory); });
      });
    json.attributeArray("parameters", [&] {
      for (const ExplainedParameter &parameter : plan.parameters)
        writeParameter(json, parameter, plan.mesh);
    });
    json.attributeArray("warnings", [&] {
      for (const ExplainedWarning &warning : plan.warnings)
        json.object([&] {
          json.attribute("text", warning.text);
          json.attribute("at", warning.at);
          json.attribute("bytes", int64_t(warning.bytes + 0.5));
        });
    });
  });
  stream << "\n";
  return text;
}
