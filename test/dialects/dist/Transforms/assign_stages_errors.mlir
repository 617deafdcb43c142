// RUN: minigptc-opt %s --dist-assign-stages --split-input-file --verify-diagnostics

module attributes {dist.pipeline = {schedule = "zigzag"}} { // expected-error {{there is no schedule "zigzag"; there are gpipe, 1f1b, interleaved}}
dist.mesh @mesh = <["stage"=2]>
}

// -----

// A program that makes parameters, say.
// expected-remark @below {{the mesh has 2 stages, and no layer is on any: each computes the whole program}}
module {
dist.mesh @mesh = <["stage"=2]>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  return %x : tensor<4xf32>
}
}

// -----

// expected-error @below {{no layer is on stage 1 of 3; a pipeline needs a layer for each, or a smaller axis 'stage'}}
module {
dist.mesh @mesh = <["stage"=3]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %0 = call @layer(%x) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @layer(%0) {graph.piece = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
}

// -----

dist.mesh @mesh = <["stage"=2]>
// expected-error @below {{has a tensor that axis 'stage' cuts; that axis numbers the stages of a pipeline, and cuts none}}
func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"stage"}]>}) -> tensor<4xf32> attributes {graph.entry} {
  return %x : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
// expected-error @below {{has a tensor, "w" of type 'tensor<4xf32>', that axis 'stage' cuts}}
func.func @named(%w: tensor<4xf32> {graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{"stage"}]>}) -> tensor<4xf32> attributes {graph.entry} {
  return %w : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %a = call @layer(%x) {graph.piece = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32> // expected-error {{belongs to piece 2 of a model of 2}}
  return %a : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%s: tensor<4xf32> {graph.donate = 0 : i64}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @layer(%x) {graph.piece = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> // expected-note {{made here}}
  %b = call @layer(%a) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> // expected-error {{belongs to piece 0, but reads what piece 1 makes, which comes later; pieces follow each other as layers do}}
  %0 = graph.add %s, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @f(%x: tensor<8xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %0 = graph.scan @body() carried(%zero) cut(%x) count = 2 : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%s: tensor<4xf32> {graph.donate = 0 : i64}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @layer(%x) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = graph.add %s, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @f(%x: tensor<8xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  // expected-error @below {{has no layer on piece 1 of 2, stage 1: every stage needs one}}
  %0 = graph.scan @body() carried(%zero) cut(%x) count = 2 : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%s: tensor<4xf32> {graph.donate = 0 : i64}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @layer(%x) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @layer(%a) {graph.piece = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = graph.multiply %s, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @f(%x: tensor<8xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{carries operand 0, of type 'tensor<4xf32>', which is no sum, or is read by an op besides; micro-batches of a pipeline only add up what layers make}}
  %0 = graph.scan @body() carried(%one) cut(%x) count = 2 : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A sum is there behind the loop.
dist.mesh @mesh = <["stage"=2]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%s: tensor<4xf32> {graph.donate = 0 : i64}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @layer(%x) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @layer(%a) {graph.piece = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = graph.add %s, %b : tensor<4xf32>
  graph.print ["so far ", ""] (%0 : tensor<4xf32>)
  return %0 : tensor<4xf32>
}
func.func @f(%x: tensor<8xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  // expected-error @below {{carries operand 0, of type 'tensor<4xf32>', which is no sum, or is read by an op besides}}
  %0 = graph.scan @body() carried(%zero) cut(%x) count = 2 : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @say(%x: tensor<i64>) -> tensor<i64> {
  graph.print ["number ", ""] (%x : tensor<i64>)
  return %x : tensor<i64>
}
func.func private @body(%s: tensor<4xf32> {graph.donate = 0 : i64}, %n: tensor<i64> {graph.donate = 1 : i64}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
  %one = graph.constant dense<1> : tensor<i64>
  // expected-error @below {{prints, and has a result that goes from a micro-batch to the next one past all layers}}
  %said = call @say(%n) {graph.prints} : (tensor<i64>) -> tensor<i64>
  %next = graph.add %said, %one : tensor<i64>
  %a = call @layer(%x) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @layer(%a) {graph.piece = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = graph.add %s, %b : tensor<4xf32>
  return %0, %next : tensor<4xf32>, tensor<i64>
}
func.func @f(%x: tensor<8xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %none = graph.constant dense<0> : tensor<i64>
  %0:2 = graph.scan @body() carried(%zero, %none) cut(%x) count = 2 : (tensor<4xf32>, tensor<i64>, tensor<8xf32>) -> (tensor<4xf32>, tensor<i64>)
  return %0#0 : tensor<4xf32>
}

// -----

module attributes {dist.pipeline = {schedule = "interleaved", chunks = 2 : i64}} {
dist.mesh @mesh = <["stage"=2]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%s: tensor<4xf32> {graph.donate = 0 : i64}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @layer(%x) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = graph.add %s, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @f(%x: tensor<12xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  // expected-error @below {{cannot be a pipeline: }}
  %0 = graph.scan @body() carried(%zero) cut(%x) count = 3 : (tensor<4xf32>, tensor<12xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @layer(%x) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> // expected-error {{belongs to a piece of a pipeline, but stands in inner, which is neither an entry nor the body of its loop over micro-batches; stages cannot take it from there}}
  return %a : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %a = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @layer(%a) {graph.piece = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
