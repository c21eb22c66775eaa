// Wide sums over the lanes of a subgroup: each adds what lanes at a distance have, so that all have the same at last.
fn reduce_wide(lane: u32, sums: Wide) -> Wide {
  var total = sums;
  for (var distance = 1u; distance < subgroup_lanes; distance *= 2u) {
    total = plus(total, Wide(subgroupShuffleXor(total.high, distance), subgroupShuffleXor(total.low, distance)));
  }
  return total;
}
