// The means beside what else a record has.
fn finish_sums(run: u32, total: Wide) {
  let at = 2u * (dims.first_run + run) + 1u;
  let means = times(total, Wide(vec4f(dims.part.x), vec4f(dims.part.y))).high;
  records[at] = vec4f(records[at].x, select(0.0, means.x, centered), means.y, 0.0);
}
