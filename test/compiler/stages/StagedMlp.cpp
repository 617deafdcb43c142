#include "test/compiler/stages/StagedMlp.h"

#include <map>
#include <optional>
#include <tuple>

namespace minigptc::test {
namespace {

using namespace dist;

std::string text(int64_t number) { return std::to_string(number); }

class Writer {
public:
  explicit Writer(const StagedMlp &options)
      : o_(options), pieces_(options.pipeline.pieces()), staged_(!options.mesh.empty()) {}

  std::string write() {
    out_ = "module attributes {minigptc.stage = \"step\", minigptc.metadata = \"{}\"} {\n";
    if (staged_)
      out_ += "  dist.mesh @mesh = <[" + o_.mesh + "]>\n";
    writeFunctions();
    writeHead();
    writeTasks();
    writeUpdates();
    return out_ + "  }\n}\n";
  }

private:
  std::string rows() const { return "tensor<" + text(o_.batch) + "x" + text(o_.width) + "xf32>"; }
  std::string square() const { return "tensor<" + text(o_.width) + "x" + text(o_.width) + "xf32>"; }
  std::string all() const {
    return "tensor<" + text(o_.pipeline.microBatches) + "x" + text(o_.batch) + "x" +
           text(o_.width) + "xf32>";
  }
  int64_t stageOf(int64_t piece) const { return piece % o_.pipeline.stages; }
  std::string mark(int64_t stage) const {
    return staged_ ? " {dist.stage = " + text(stage) + " : i64}" : "";
  }
  void line(const std::string &code) { out_ += "    " + code + "\n"; }
  std::string fresh() { return "%v" + text(next_++); }

  /// tanh(x·w) and its gradients, that of w added to a sum; the loss and its gradient.
  void writeFunctions() {
    std::string r = rows(), s = square(), dims = ", batching_dims = [] x [], contracting_dims = ";
    out_ += "  func.func private @forward(%x: " + r + ", %w: " + s + ") -> " + r + " {\n";
    line("%z = graph.dot_general %x, %w" + dims + "[1] x [0] : (" + r + ", " + s + ") -> " + r);
    line("%y = graph.tanh %z : " + r);
    line("return %y : " + r);
    out_ += "  }\n  func.func private @backward(%dy: " + r + ", %y: " + r + ", %x: " + r +
            ", %w: " + s + ", %before: " + s + ") -> (" + r + ", " + s + ") {\n";
    line("%one = graph.constant dense<1.0> : " + r);
    line("%yy = graph.multiply %y, %y : " + r);
    line("%slope = graph.subtract %one, %yy : " + r);
    line("%dz = graph.multiply %dy, %slope : " + r);
    line("%dx = graph.dot_general %dz, %w" + dims + "[1] x [1] : (" + r + ", " + s + ") -> " + r);
    line("%dw = graph.dot_general %x, %dz" + dims + "[0] x [0] : (" + r + ", " + r + ") -> " + s);
    line("%sum = graph.add %before, %dw : " + s);
    line("return %dx, %sum : " + r + ", " + s);
    out_ += "  }\n  func.func private @loss(%x: " + r + ", %y: " + r + ") -> (tensor<f32>, " + r +
            ") {\n";
    line("%d = graph.subtract %x, %y : " + r);
    line("%dd = graph.multiply %d, %d : " + r);
    line("%l = graph.reduce sum, %dd, dims = [0, 1] : (" + r + ") -> tensor<f32>");
    line("%g = graph.add %d, %d : " + r);
    line("return %l, %g : tensor<f32>, " + r);
    out_ += "  }\n";
  }

  std::string sharding(const std::string &dims) const {
    return ", dist.sharding = #dist.sharding<@mesh, [" + dims + "]>";
  }
  std::string weightAttributes(int64_t piece) const {
    std::string attributes = "graph.name = \"w" + text(piece) + "\"";
    if (!o_.modelAxis.empty())
      attributes += sharding(piece % 2 ? "{\"" + o_.modelAxis + "\"}, {}"
                                       : "{}, {\"" + o_.modelAxis + "\"}") +
                    ", dist.stored = \"w" + text(piece) + "\"";
    return attributes;
  }

  void writeHead() {
    out_ += "  func.func @step(";
    std::string results;
    for (int64_t piece = 0; piece < pieces_; ++piece) {
      out_ += "%w" + text(piece) + ": " + square() + " {graph.donate = " + text(piece) +
              " : i64, " + weightAttributes(piece) + "},\n      ";
      results += square() + " {graph.name = \"w" + text(piece) + "\"}, ";
    }
    std::string cut = o_.batchAxis.empty() ? "" : sharding("{}, {\"" + o_.batchAxis + "\"}, {}");
    out_ += "%x: " + all() + " {graph.name = \"x\"" + cut + "}, %y: " + all() +
            " {graph.name = \"y\"" + cut + "})\n      -> (" + results +
            "tensor<f32> {graph.name = \"loss\"}) attributes {graph.entry} {\n";
  }

  /// Rows of a micro-batch.
  std::string microBatch(const char *of, int64_t number) {
    std::string part = fresh(), flat = fresh(), one = rows();
    one.replace(0, 7, "tensor<1x");
    std::string n = text(number);
    line(part + " = graph.slice " + of + " [" + n + ", 0, 0] : [" + text(number + 1) + ", " +
         text(o_.batch) + ", " + text(o_.width) + "] : [1, 1, 1] : (" + all() + ") -> " + one);
    line(flat + " = graph.reshape " + part + " : (" + one + ") -> " + rows());
    return flat;
  }

  std::string moved(const std::string &value, const std::string &type, int64_t from, int64_t to) {
    if (!staged_ || from == to)
      return value;
    std::string there = fresh();
    line(there + " = dist.transfer " + value + " from " + text(from) + " to " + text(to) + " : " +
         type);
    return there;
  }

  /// In an order that each stage's is a part of.
  void writeTasks() {
    Schedule schedule = makeSchedule(o_.kind, o_.pipeline);
    std::vector<size_t> next(schedule.stages.size());
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (size_t stage = 0; stage < next.size(); ++stage)
        while (next[stage] < schedule.stages[stage].size() &&
               writeTask(int64_t(stage), schedule.stages[stage][next[stage]]))
          ++next[stage], goesOn = true;
    }
  }

  bool writeTask(int64_t stage, const StageTask &task) {
    int64_t piece = task.chunk * o_.pipeline.stages + stage, m = task.microBatch;
    return task.backward ? writeBackward(piece, m) : writeForward(piece, m);
  }

  bool writeForward(int64_t piece, int64_t m) {
    int64_t stage = stageOf(piece);
    if (piece > 0 && !inputs_.contains({piece, m}))
      return false;
    std::string x = piece == 0 ? microBatch("%x", m) : inputs_.at({piece, m}), y = fresh();
    inputs_[{piece, m}] = x;
    line(y + " = call @forward(" + x + ", %w" + text(piece) + ")" + mark(stage) + " : (" + rows() +
         ", " + square() + ") -> " + rows());
    outputs_[{piece, m}] = y;
    if (piece + 1 < pieces_) {
      inputs_[{piece + 1, m}] = moved(y, rows(), stage, stageOf(piece + 1));
      return true;
    }
    std::string loss = fresh();
    std::string target = microBatch("%y", m);
    line(loss + ":2 = call @loss(" + y + ", " + target + ")" + mark(stage) + " : (" + rows() +
         ", " + rows() + ") -> (tensor<f32>, " + rows() + ")");
    loss_ = loss_.empty() ? loss + "#0" : added(loss_, loss + "#0", "tensor<f32>");
    gradients_[{piece, m}] = loss + "#1";
    return true;
  }

  bool writeBackward(int64_t piece, int64_t m) {
    if (!gradients_.contains({piece, m}))
      return false;
    int64_t stage = stageOf(piece);
    std::string pair = fresh(), &sum = sums_[piece];
    if (sum.empty()) {
      sum = fresh();
      line(sum + " = graph.constant dense<0.0> : " + square());
    }
    line(pair + ":2 = call @backward(" + gradients_.at({piece, m}) + ", " +
         outputs_.at({piece, m}) + ", " + inputs_.at({piece, m}) + ", %w" + text(piece) + ", " +
         sum + ")" + mark(stage) + " : (" + rows() + ", " + rows() + ", " + rows() + ", " +
         square() + ", " + square() + ") -> (" + rows() + ", " + square() + ")");
    sum = pair + "#1";
    if (piece > 0)
      gradients_[{piece - 1, m}] = moved(pair + "#0", rows(), stage, stageOf(piece - 1));
    return true;
  }

  std::string added(const std::string &a, const std::string &b, const std::string &type) {
    std::string sum = fresh();
    line(sum + " = graph.add " + a + ", " + b + " : " + type);
    return sum;
  }

  void writeUpdates() {
    std::string scalar = "tensor<f32>", total;
    int64_t last = stageOf(pieces_ - 1);
    for (int64_t piece = 0; piece < pieces_; ++piece) {
      std::string squares = fresh(), norm = fresh();
      line(squares + " = graph.multiply " + sums_[piece] + ", " + sums_[piece] + " : " + square());
      line(norm + " = graph.reduce sum, " + squares + ", dims = [0, 1] : (" + square() + ") -> " +
           scalar);
      norm = moved(norm, scalar, stageOf(piece), last);
      total = total.empty() ? norm : added(total, norm, scalar);
    }
    line("%one = graph.constant dense<1.0> : tensor<f32>");
    std::string scale = fresh(), above = added(total, "%one", scalar);
    line(scale + " = graph.divide %one, " + above + " : " + scalar);
    std::map<int64_t, std::string> scales; // By stage.
    std::string values, types;
    for (int64_t piece = 0; piece < pieces_; ++piece) {
      std::string &here = scales[stageOf(piece)];
      if (here.empty())
        here = moved(scale, scalar, last, stageOf(piece));
      std::string wide = fresh(), step = fresh(), updated = fresh();
      line(wide + " = graph.broadcast_in_dim " + here + ", dims = [] : (tensor<f32>) -> " +
           square());
      line(step + " = graph.multiply " + sums_[piece] + ", " + wide + " : " + square());
      line(updated + " = graph.subtract %w" + text(piece) + ", " + step + " : " + square());
      values += updated + ", ";
      types += square() + ", ";
    }
    line("return " + values + loss_ + " : " + types + "tensor<f32>");
  }

  const StagedMlp &o_;
  int64_t pieces_;
  bool staged_;
  std::string out_, loss_;
  int64_t next_ = 0;
  std::map<std::pair<int64_t, int64_t>, std::string> inputs_, outputs_, gradients_; ///< piece, m
  std::map<int64_t, std::string> sums_;
};

} // namespace

std::string stagedMlp(const StagedMlp &options) { return Writer(options).write(); }

} // namespace minigptc::test
