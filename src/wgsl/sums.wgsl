// Four elements and what is known of them.
struct Item {
  there: vec4<bool>,
  x: vec4f,
  grad: vec4f,
  run: vec4u,  // that x is normalized in
  at: Indices,
}

// Up to four sums of four elements each.
struct Sums {
  a: Wide,
  b: Wide,
  c: Wide,
  d: Wide,
}

// Without what is not there, whose place may be that of a run with NaN.
fn add_there(sum: Wide, term: Wide, there: vec4<bool>) -> Wide {
  return add_to(sum, Wide(select(vec4f(), term.high, there), select(vec4f(), term.low, there)));
}

// The four sums in one.
fn totals_of(sums: Sums) -> Wide {
  let high = transpose(mat4x4f(sums.a.high, sums.b.high, sums.c.high, sums.d.high));
  let low = transpose(mat4x4f(sums.a.low, sums.b.low, sums.c.low, sums.d.low));
  return plus(
    plus(Wide(high[0], low[0]), Wide(high[1], low[1])),
    plus(Wide(high[2], low[2]), Wide(high[3], low[3])),
  );
}
