// Indices of the parameters for four elements.
struct Indices {
  weight: vec4u,
  bias: vec4u,
  scale: vec4u,
  shift: vec4u,
}
