// Streaming reads of 64 KiB, four in flight, from a file that always has data.

import { open, read, walk } from "../ninep.mjs";
import { against } from "../ninep-rows.mjs";

export default against({
  name: "streaming read of 64 KiB",
  flight: 4,
  total: 8000,
  least: 0.8,
  before: () => [walk(0, 0, 1, "endless"), open(0, 1)],
  chain: (tag) => [read(tag, 1, 65_536)],
});
