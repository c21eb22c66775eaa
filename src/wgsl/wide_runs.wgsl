// What gradients need of runs, as two vectors for each: the mean of scaled values and rstd over the scale, both wide; then the
// scale, and the means of the gradient of the normalized value and of its product with that.
override one_run: bool = false;

struct RunQuad {
  mean: Wide,
  rstd: Wide,
  scale: vec4f,
  mean_gradient: vec4f,
  mean_product: vec4f,
}

fn run_quad(run: vec4u) -> RunQuad {
  if (one_run) {
    let first = records[2u * run.x];
    let second = records[2u * run.x + 1u];
    return RunQuad(
      Wide(first.xxxx, first.yyyy),
      Wide(first.zzzz, first.wwww),
      second.xxxx,
      second.yyyy,
      second.zzzz,
    );
  }
  let first = transpose(mat4x4f(
    records[2u * run.x],
    records[2u * run.y],
    records[2u * run.z],
    records[2u * run.w],
  ));
  let second = transpose(mat4x4f(
    records[2u * run.x + 1u],
    records[2u * run.y + 1u],
    records[2u * run.z + 1u],
    records[2u * run.w + 1u],
  ));
  return RunQuad(Wide(first[0], first[1]), Wide(first[2], first[3]), second[0], second[1], second[2]);
}
