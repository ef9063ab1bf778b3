import { openaiBackend, openrouterBackend } from "../../../plugins/backend-openai/factory.ts";
import type { Backend } from "../../../plugins/backends/types.ts";
import { contractSuite } from "../backends/contract.ts";
import { chatContract } from "../backends/contract-fakes.ts";

contractSuite("openai", chatContract, (fake, { idle, key }) => {
  const env = { OLLIE_OPENAI_URL: fake.url, OLLIE_OPENAI_KEY: key };
  return openaiBackend({ env, idle }).create({ model: "fake-1" }) as Backend;
});

contractSuite("openrouter", chatContract, (fake, { idle, key }) => {
  const env = { OLLIE_OPENROUTER_URL: fake.url, OLLIE_OPENROUTER_KEY: key };
  return openrouterBackend({ env, idle }).create({ model: "anthropic/claude-sonnet-4.5" }) as Backend;
});
