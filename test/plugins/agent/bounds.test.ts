import { expect, test } from "vitest";
import { boundsBelow, profilesOf } from "../../../plugins/agent/grow.ts";

const agent = (bounds: string[], sandbox = "") => ({ bounds, sandbox });

test("what an agent makes is bound by its profile, and by those that bind itself", () => {
  expect(profilesOf(agent([]))).toEqual([""]);
  expect(profilesOf(agent([], "build"))).toEqual(["build"]);
  expect(boundsBelow(agent([]))).toEqual([""]);
  expect(boundsBelow(agent([], "readonly"))).toEqual(["readonly"]);
  expect(boundsBelow(agent(["readonly"]))).toEqual(["readonly"]);
  expect(boundsBelow(agent(["", "build"], "readonly"))).toEqual(["", "build", "readonly"]);
  expect(profilesOf(agent(["readonly"], "build"))).toEqual(["readonly", "build"]);
});
