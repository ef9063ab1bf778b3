/**
 * What every backend owes, as tests: a third party's too. It takes a fake of the provider that is told in the terms below
 * what to answer, over real HTTP, and a backend that talks to it:
 *
 *   contractSuite("acme", async () => acmeFake(), (fake, options) => acmeBackend({ url: fake.url, ...options }));
 */
import { afterEach, describe, test } from "vitest";
import type { Backend } from "../../../plugins/backends/types.ts";
import { failures } from "./contract-failures.ts";
import { histories } from "./contract-histories.ts";
import { type ContractFake, type ContractOptions, key } from "./contract-kit.ts";
import { lists } from "./contract-lists.ts";
import { replies } from "./contract-replies.ts";

export type { ContractFake, ContractOptions, Say } from "./contract-kit.ts";

export function contractSuite<F extends ContractFake>(
  name: string,
  makeFake: () => Promise<F>,
  makeBackend: (fake: F, options: { idle: number; key: string }) => Backend,
  { without = {}, idle = 500 }: ContractOptions = {},
): void {
  const open: F[] = [];
  afterEach(async () => {
    for (const fake of open.splice(0)) await fake.close();
  });
  const setup = async () => {
    const fake = await makeFake();
    open.push(fake);
    return { fake, backend: makeBackend(fake, { idle, key }) };
  };
  const check = (title: string, run: () => Promise<void>) => {
    if (Object.hasOwn(without, title)) test.skip(`${title} (${without[title]})`, run);
    else test(title, run);
  };

  describe(`contract: ${name}`, () => {
    for (const part of [replies, failures, histories, lists]) part({ check, setup, idle });
  });
}
