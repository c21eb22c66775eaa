// Moves a running mean towards that of the batch. A lane has four channels, so that no word of 16-bit values is written by
// two.
fn work(group: u32, lane: u32) {
  let channels = channels_of(group * 256u + lane, dims.parameters.x);
  if (channels.first >= dims.runs + channels.lead) {
    return;
  }
  var batch: vec4f;
  var old: vec4f;
  for (var c = 0u; c < 4u; c++) {
    let run = channels.run[c];
    let record = records[2u * (dims.first_run + run)];
    let back = power_of_two(-exponent_of(record.w));
    batch[c] = (record.x + record.y) * back;
    old[c] = running_mean_at(dims.parameters.x + run);
  }
  store_running_mean(channels.index, moved(old, batch), channels.there);
}
