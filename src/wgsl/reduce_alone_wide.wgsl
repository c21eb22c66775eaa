fn reduce_wide(lane: u32, sums: Wide) -> Wide {
  return sums;
}
