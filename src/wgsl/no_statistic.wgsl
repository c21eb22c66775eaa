fn store_OPERAND(run: u32, bits: u32) {}
