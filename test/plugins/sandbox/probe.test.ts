import { expect, test } from "vitest";
import { bwrapProbe, bwrapWords } from "../../../plugins/sandbox/bwrap.ts";
import type { Rules } from "../../../plugins/sandbox/rules.ts";

const nothing: Pick<Rules, "grants" | "unix" | "links"> = { grants: [], unix: [], links: [] };

test("H-020: bwrap dies with the tool server's daemon, but a probe ends by itself: killed early it leaves its child", () => {
  const words = bwrapWords(nothing as Rules, { own: [], unshareNetwork: false });
  expect(words).toContain("--die-with-parent");
  expect(bwrapProbe).not.toContain("--die-with-parent");
});
