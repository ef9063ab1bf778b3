import { expect, test } from "vitest";
import { boundsBelow, profilesOf } from "../../../plugins/agent/grow.ts";
import type { Runtime } from "../../../plugins/agent/runtime.ts";

const agent = (bounds: string[], sandbox?: string) =>
  ({ bounds, config: sandbox === undefined ? {} : { sandbox } }) as unknown as Runtime;

test("what an agent makes is bound by its profile, and by those that bind itself", () => {
  expect(profilesOf(agent([]))).toEqual([""]);
  expect(profilesOf(agent([], "build"))).toEqual(["build"]);
  expect(boundsBelow(agent([]))).toEqual([""]);
  expect(boundsBelow(agent([], "readonly"))).toEqual(["readonly"]);
  expect(boundsBelow(agent(["readonly"]))).toEqual(["readonly"]);
  expect(boundsBelow(agent(["", "build"], "readonly"))).toEqual(["", "build", "readonly"]);
  expect(profilesOf(agent(["readonly"], "build"))).toEqual(["readonly", "build"]);
});
