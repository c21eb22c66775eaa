// 1 / (1 + e^-v), absolutely within a few ulps of 1: the relative error of e^v grows with |v|, but not what it does here.
fn sigmoid(v: vec4f) -> vec4f {
  let e = exp(-min(abs(v), vec4f(80.0)));
  return select(vec4f(1.0), e, v < vec4f(0.0)) / (1.0 + e);
}

fn activated(v: vec4f) -> vec4f {
  return v * sigmoid(v);
}
