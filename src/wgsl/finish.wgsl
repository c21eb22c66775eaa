// Normalizes `count` values of a run from `first` on by its record: shift, rest, factor and scale.
fn finish_values(place: Place, first: u32, count: u32, turn: u32, record: vec4f) {
  prepare_finish();
  for (var k = 0u; k < quad_count(count); k++) {
    let there = is_there(k, turn, count);
    if (there.x) {
      finish_quad(k, turn, there, place, first, normalized_by(record, quad_of(k)));
    }
  }
}
