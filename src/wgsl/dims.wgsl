// What a dispatch is told: sizes, strides and constants. Strides and bases count elements.
struct Dim {
  size: u32,
  x: u32,    // of x, y and the sum
  run: u32,  // of the number of the run
  unused: u32,
  parameters: vec4u,  // of weight, bias, scale, shift; where a sum is made, of residual, gate, sum_bias
}

struct Dims {
  runs: u32,         // of this dispatch
  count: u32,        // values of a run that this dispatch sees
  chunks: u32,       // pieces of a run that this dispatch sees
  first_run: u32,    // where records begin in their binding
  first_chunk: u32,  // where pieces begin in theirs
  all_chunks: u32,   // pieces of a run
  total: u32,        // elements that this dispatch sees
  zero: u32,         // 0, which no compiler knows
  kept: u32,         // how many of dim are kept; the reduced ones follow
  reduced: u32,
  x: u32,  // where x begins in its binding
  y: u32,
  parameters: vec4u,
  numbers: vec4f,  // parameters that are numbers
  eps: f32,        // times 2^(2 * eps_exponent) inside a root, times 2^eps_exponent beside one
  eps_exponent: i32,
  floor: f32,        // values far below it do not count
  rstd_most: u32,    // the bits of rstd where nothing varies
  weight_offset: f32,
  size: f32,      // values of a run
  momentum: f32,  // the weight of the new value
  unbias: f32,    // size / (size - 1), or 1
  window: vec4f,  // alpha / size, k, and -beta in two parts
  below: u32,     // channels of the window before a value
  above: u32,
  channels: u32,
  inner: u32,
  first_statistic: u32,  // where mean and rstd begin
  lanes: u32,    // of a run
  piece: u32,    // values of a piece of a run
  eps_low: f32,  // what eps lacks
  part: vec2f,   // 1 / size, in two parts
  grad: u32,     // where the gradient of the output begins
  padding: u32,
  dim: array<Dim, 32>,
}

@group(0) @binding(0) var<uniform> dims: Dims;

// Indices of x, the run and the parameters.
struct Place {
  x: u32,
  run: u32,
  parameters: vec4u,
}

// What an index over `rank` dimensions from `first` on adds.
fn place_along(index: u32, first: u32, rank: u32) -> Place {
  var place = Place();
  var rest = index;
  for (var d = first + rank; d > first; d--) {
    let size = dims.dim[d - 1u].size;
    var at = rest;
    if (d - 1u > first) {
      rest = at / size;
      at -= rest * size;
    }
    place.x += at * dims.dim[d - 1u].x;
    place.run += at * dims.dim[d - 1u].run;
    place.parameters += at * dims.dim[d - 1u].parameters;
  }
  return place;
}

// Keeps a compiler that treats sums as associative from joining what stands inside with what stands outside.
fn opaque(v: vec4f) -> vec4f {
  return bitcast<vec4f>(bitcast<vec4u>(v) ^ vec4u(dims.zero));
}

const quad_indices = vec4u(0, 1, 2, 3);
