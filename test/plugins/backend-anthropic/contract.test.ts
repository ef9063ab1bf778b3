import { anthropicBackend } from "../../../plugins/backend-anthropic/factory.ts";
import type { Backend } from "../../../plugins/backends/types.ts";
import { contractSuite } from "../backends/contract.ts";
import { messagesContract } from "../backends/contract-fakes.ts";

contractSuite("anthropic", messagesContract, (fake, { idle, key }) => {
  const env = { OLLIE_ANTHROPIC_URL: fake.url, OLLIE_ANTHROPIC_KEY: key };
  return anthropicBackend({ env, idle }).create({ model: "claude-sonnet-4-5" }) as Backend;
});
