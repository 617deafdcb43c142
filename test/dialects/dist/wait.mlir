// RUN: minigptc-opt %s --split-input-file --verify-diagnostics | minigptc-opt --split-input-file | FileCheck %s

dist.mesh @mesh = <["x"=2]>
// CHECK-LABEL: func.func @good
// CHECK: %[[A:.*]]:2 = dist.all_gather %arg0, %arg1 over @mesh ["x"] dims = [0, 0] {dist.started}
// CHECK: dist.wait %[[A]]#0, %[[A]]#1 : tensor<8xf32>, tensor<4xf32>
func.func @good(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<8xf32> {
  %0:2 = dist.all_gather %x, %y over @mesh ["x"] dims = [0, 0] {dist.started} : (tensor<4xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<4xf32>)
  %1:2 = dist.wait %0#0, %0#1 : tensor<8xf32>, tensor<4xf32>
  return %1#0 : tensor<8xf32>
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @used_early(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-note @+1 {{started here}}
  %0 = dist.all_gather %x over @mesh ["x"] dims = [0] {dist.started} : (tensor<4xf32>) -> tensor<8xf32>
  // expected-error @+1 {{uses a collective that is only started; a dist.wait in the same block has its results}}
  %1 = graph.negate %0 : tensor<8xf32>
  %2 = dist.wait %0 : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @never(%x: tensor<4xf32>) {
  // expected-error @+1 {{is started, but no dist.wait has all of its results, in order}}
  %0 = dist.all_gather %x over @mesh ["x"] dims = [0] {dist.started} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @some(%x: tensor<4xf32>) {
  // expected-error @+1 {{is started, but no dist.wait has all of its results, in order}}
  %0:2 = dist.all_gather %x, %x over @mesh ["x"] dims = [0, 0] {dist.started} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %1 = dist.wait %0#1 : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @slice(%x: tensor<4xf32>) {
  // expected-error @+1 {{is started (dist.started), but only a collective goes on beside others}}
  %0 = dist.all_slice %x over @mesh ["x"] dims = [0] {dist.started} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{waits for something that is no started collective}}
  %0 = dist.wait %x : tensor<4xf32>
  return
}
