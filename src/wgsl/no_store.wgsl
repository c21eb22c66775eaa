fn store_OPERAND_one(i: u32, v: f32) {}
