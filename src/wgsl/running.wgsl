// Four channels, counted from the beginning of a word.
struct Channels {
  first: u32,
  lead: u32,
  index: u32,  // of the first in its binding
  there: vec4<bool>,
  run: vec4u,
}

fn channels_of(number: u32, base: u32) -> Channels {
  let lead = base & 1u;
  let numbers = quad_indices + 4u * number;
  let there = (numbers >= vec4u(lead)) & (numbers < vec4u(dims.runs + lead));
  return Channels(4u * number, lead, base - lead + 4u * number, there, select(vec4u(0u), numbers - lead, there));
}

fn moved(old: vec4f, batch: vec4f) -> vec4f {
  return (1.0 - dims.momentum) * old + dims.momentum * batch;
}
