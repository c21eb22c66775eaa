// Indices of the parameters for four elements.
struct Indices {
  weight: vec4u,
  bias: vec4u,
  scale: vec4u,
  shift: vec4u,
}

// Those of four elements side by side.
fn indices_from(first: vec4u, steps: vec4u) -> Indices {
  return Indices(
    first.x + quad_indices * steps.x,
    first.y + quad_indices * steps.y,
    first.z + quad_indices * steps.z,
    first.w + quad_indices * steps.w,
  );
}
