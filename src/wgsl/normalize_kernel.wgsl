// Normalizes elements by the records of their runs: four neighbouring ones for each lane, whatever run they are of.
override one_run: bool = false;

fn work_on(item: Item, number: u32) {
  let x = read_item(item);
  var shift: vec4f;
  var rest: vec4f;
  var factor: vec4f;
  var scale: vec4f;
  if (one_run) {
    let record = records[2u * item.run.x];
    shift = record.xxxx;
    rest = record.yyyy;
    factor = record.zzzz;
    scale = record.wwww;
  } else {
    let all = transpose(mat4x4f(
      records[2u * item.run.x],
      records[2u * item.run.y],
      records[2u * item.run.z],
      records[2u * item.run.w],
    ));
    shift = all[0];
    rest = all[1];
    factor = all[2];
    scale = all[3];
  }
  let normalized = (opaque(scaled_each(x, scale) - shift) - rest) * factor;
  store_y(item.first, finished(normalized, item.at), item.there);
}
