// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// CHECK-LABEL: func @cond
func.func @cond(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.cond %arg0 then @double else @same(%arg1) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  %0 = graph.cond %p then @double else @same(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @below(%n: tensor<i32>, %i: tensor<i32>) -> tensor<i1> {
  %0 = graph.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @next(%n: tensor<i32>, %i: tensor<i32> {graph.donate = 0 : i64}) -> tensor<i32> {
  %one = graph.constant dense<1> : tensor<i32>
  %0 = graph.add %i, %one : tensor<i32>
  return %0 : tensor<i32>
}
// CHECK-LABEL: func @while
func.func @while(%n: tensor<i32>, %i: tensor<i32>) -> tensor<i32> {
  // CHECK: graph.while @below @next(%arg0) carried(%arg1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %0 = graph.while @below @next(%n) carried(%i) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}

// -----

func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @predicate(%p: tensor<4xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{has the predicate i1[4]; it must be an i1 scalar}}
  %0 = graph.cond %p then @same else @same(%x) : (tensor<4xi1>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-note@+1 {{@other is defined here}}
func.func private @other(%x: tensor<5xf32>) -> tensor<5xf32> {
  return %x : tensor<5xf32>
}
func.func @types(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{input 0 is f32[4], but @other asks for f32[5]}}
  %0 = graph.cond %p then @same else @other(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @no_function(%p: tensor<i1>) {
  // expected-error@+1 {{calls @none, but there is no such function}}
  graph.cond %p then @none else @none() : (tensor<i1>) -> ()
  return
}

// -----

// expected-note@+1 {{@condition is defined here}}
func.func private @condition(%i: tensor<i32>) -> tensor<i32> {
  return %i : tensor<i32>
}
func.func private @next(%i: tensor<i32> {graph.donate = 0 : i64}) -> tensor<i32> {
  return %i : tensor<i32>
}
func.func @condition_type(%i: tensor<i32>) {
  // expected-error@+1 {{needs a condition that gives an i1 scalar, which @condition does not}}
  %0 = graph.while @condition @next() carried(%i) : (tensor<i32>) -> tensor<i32>
  return
}

// -----

func.func private @condition(%i: tensor<i1>) -> tensor<i1> {
  return %i : tensor<i1>
}
// expected-note@+1 {{@next is defined here}}
func.func private @next(%i: tensor<i1>) -> tensor<i1> {
  return %i : tensor<i1>
}
func.func @not_carried(%i: tensor<i1>) {
  // expected-error@+1 {{calls @next, whose argument 0 is carried and needs graph.donate = 0}}
  %0 = graph.while @condition @next() carried(%i) : (tensor<i1>) -> tensor<i1>
  return
}
